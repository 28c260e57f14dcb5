/** A failure in words meant for the model: the output of the call is its message and nothing else. */
export class ToolError extends Error {}
