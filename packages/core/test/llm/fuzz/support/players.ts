import { protocols, type WireProtocol } from "../../support/streams.ts";
import { Player } from "./player.ts";

/** One for each protocol, made when it is first asked for. */
const players = new Map<WireProtocol, Promise<Player>>(
  protocols.map((protocol) => [protocol, Player.create(protocol)]),
);

export async function playerOf(protocol: WireProtocol): Promise<Player> {
  const player = await players.get(protocol);
  if (player === undefined) throw new Error(`no player for ${protocol}`);
  return player;
}
