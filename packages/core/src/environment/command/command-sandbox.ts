/** What stands around a command's shell. */

/** How a program is started. */
export interface Launch {
  argv: readonly string[];
  /** Absolute path of an existing directory. */
  workdir: string;
  variables: Readonly<Record<string, string>>;
  /** What it finds at the descriptors 3, 4 and on: each is read once, to its end. */
  handed?: readonly Buffer[] | undefined;
  /** Paths that are kept from it only as long as the same file or directory is there. */
  keptPlaces?: readonly string[] | undefined;
}

export interface CommandSandbox {
  /** Where commands can neither look nor write. */
  readonly privateDir?: string | undefined;
  /** Where commands write: what lies there is not started outside of the sandbox. */
  readonly writableDirs?: readonly string[] | undefined;
  /**
   * What is started instead: it runs the command, keeps its three streams, and ends with its exit code. When it is
   * killed, all that runs inside is.
   *
   * @throws ToolError when a command must not run there
   */
  wrap(command: Launch): Launch;
}
