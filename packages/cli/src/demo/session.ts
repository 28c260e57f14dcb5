/** The demo's Session: the offline model, the built-in tools and one of its own, in its own home. */
import { fileURLToPath } from "node:url";
import { createAgent, createLanguageModel, type Session, systemClock } from "@coxswain/core";
import { type ArrivalOptions, withArrivals } from "./arrivals.ts";
import { tideTool } from "./tide-tool.ts";
import type { DemoPlace } from "./workspace.ts";

const scenarioPath = fileURLToPath(new URL("../../demo/scenario.yaml", import.meta.url));

/** Named as `cox run --session` names it, so that the Session can be gone on with. */
const settings = {
  provider: "offline",
  modelId: scenarioPath,
  protocol: "offline",
  contextWindow: 0,
  vision: false,
} as const;

export async function openDemoSession(place: DemoPlace, onRequest: ArrivalOptions["onRequest"]): Promise<Session> {
  const offline = await createLanguageModel(settings, { clock: systemClock, scenarioPath });
  const model = withArrivals(offline, { modelId: scenarioPath, onRequest });
  const agent = await createAgent({ home: place.home, model, tools: [tideTool] });
  return agent.createSession({ workspaceDir: place.workspace });
}
