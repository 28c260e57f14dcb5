export * from "@coxswain/protocol"; export * from "./engine/ports.ts";
