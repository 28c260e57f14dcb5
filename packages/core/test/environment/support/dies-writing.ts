/** Is killed when a file is written and has not yet taken its place. */
import { replaceFile } from "../../../src/shared/replace-file.ts";

const [path = ""] = process.argv.slice(2);
await replaceFile(path, Buffer.from("new"), {
  beforeReplacing: () => {
    process.kill(process.pid, "SIGKILL");
    return new Promise(() => undefined);
  },
});
