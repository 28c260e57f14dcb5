/** A sandbox that was asked for and cannot be had: what is missing, and how to get it. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
}
