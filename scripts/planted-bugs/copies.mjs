// Copies of what was built, outside of the tree: one as it is, and one for each bug.
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";

const packages = ["protocol", "core", "testing"];

export class Copies {
  #directory = mkdtempSync(join(tmpdir(), "cox-planted-bugs-"));

  constructor(root) {
    symlinkSync(join(root, "node_modules"), join(this.#directory, "node_modules"));
    for (const name of packages) {
      const place = join(this.unchanged, "node_modules/@coxswain", name);
      cpSync(join(root, "packages", name, "package.json"), join(place, "package.json"));
      const isCode = (path) => ["", ".js", ".json"].includes(extname(path));
      cpSync(join(root, "packages", name, "dist"), join(place, "dist"), { recursive: true, filter: isCode });
    }
  }

  get unchanged() {
    return join(this.#directory, "unchanged");
  }

  /** @returns The copy's directory. */
  plant({ name, file, script }) {
    const copy = join(this.#directory, name);
    mkdirSync(copy);
    cpSync(this.unchanged, copy, { recursive: true });
    const [, packageName, path] = /^packages\/([^/]+)\/src\/(.+)\.ts$/.exec(file);
    writeFileSync(join(copy, "node_modules/@coxswain", packageName, "dist", `${path}.js`), script);
    return copy;
  }

  remove(copy) {
    rmSync(copy, { recursive: true });
  }

  removeAll() {
    rmSync(this.#directory, { recursive: true });
  }
}
