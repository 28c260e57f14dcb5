/** Every default number of calls, in one place. */
export const environmentDefaults = {
  timeoutMs: 120_000,
  /** More than this no timer takes: some 24 days. */
  maxTimeoutMs: 2 ** 31 - 1,
  inputCommandTimeoutMs: 130_000,
  killCommandTimeoutMs: 30_000,
  /** Of the tools that come with Coxswain and run no command. */
  fileToolTimeoutMs: 30_000,
  /** Characters that the model gets of one output. */
  maxOutputLength: 16_000,
} as const;
