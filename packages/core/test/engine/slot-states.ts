import type { SlotState, Turn } from "../../src/engine/turn.ts";

export function slotStates({ slots }: Turn): (SlotState | undefined)[] {
  return Array.from({ length: slots.length }, (_, slot) => slots.at(slot)?.state);
}
