#!/usr/bin/env node
// Plain old syntax: a Node that is too old must get as far as the line that says so.
import { readFileSync } from "fs";

function tooOld(version) {
  var parts = version.split(".").map(Number);
  return parts[0] < 20 || (parts[0] === 20 && parts[1] < 19);
}

function ownVersion() {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}

function refuse(reason) {
  process.stderr.write("cox: " + reason + "\n");
  process.exitCode = 2;
}

var args = process.argv.slice(2);

if (tooOld(process.versions.node)) {
  refuse(
    "needs Node 20.19 or newer, and this is Node " + process.versions.node + "; install a newer one and try again",
  );
} else if (process.platform === "win32") {
  refuse("does not run on Windows itself; use it within WSL, the Linux subsystem of Windows");
} else if (args.length === 1 && (args[0] === "--version" || args[0] === "-V")) {
  process.stdout.write(ownVersion() + "\n");
} else {
  import("../dist/main.js").then(
    function (main) {
      return main.main(args, ownVersion());
    },
    function (error) {
      if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
      refuse(
        "is not built, or its packages are not installed (" +
          error.message.split("\n")[0] +
          "); run npm install and npm run build",
      );
    },
  );
}
