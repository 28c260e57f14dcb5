/** What stands around a command's shell. */

export interface CommandSandbox {
  /**
   * The program and arguments that are started instead: they run `argv` in `workdir`, keep its three streams, and end
   * with its exit code. When they are killed, all that runs inside is.
   *
   * @param workdir Absolute path of an existing directory.
   * @throws ToolError when a command must not run there
   */
  wrap(argv: readonly string[], workdir: string): readonly string[];
}
