export * from "./message.ts";
export * from "./model.ts";
export * from "./event.ts";
export * from "./build.ts";
export * from "./match.ts";
export * from "./timestamp.ts";
