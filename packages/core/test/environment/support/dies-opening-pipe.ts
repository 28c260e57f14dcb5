/** Opens the pipe of a command, by the `mkfifo` that is first in its `PATH`. */
import { openOutputPipe } from "../../../src/environment/command/output-pipe.ts";

// What lies in the usual places is not taken.
await openOutputPipe({ wrap: (launch) => launch, writableDirs: ["/usr", "/bin"] });
process.stdout.write("opened\n");
