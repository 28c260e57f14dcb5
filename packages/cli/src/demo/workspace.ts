/** A small directory to work in, and a home of its own, both below one temporary directory that is kept. */
import { mkdir, mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliUsageError } from "../exit-code.ts";

const files: Readonly<Record<string, string>> = {
  "harbour.md": "# Harbour\n\nWe lie at the outer quay.\n\nTODO ask for a berth\n",
  "provisions.md": "# Provisions\n\n- water: 200 l\n- bread: 12\n\nTODO buy rope\n",
  "crew.txt": "helm: Ida\nbow: Jonas\n",
};

export interface DemoPlace {
  /** What to remove to be rid of everything. */
  root: string;
  home: string;
  workspace: string;
}

export async function createDemoPlace(): Promise<DemoPlace> {
  const root = await makeRoot().catch((error: unknown) => {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new CliUsageError(
      `no directory can be made in ${JSON.stringify(tmpdir())} (${reason}); set TMPDIR to one that can be written`,
    );
  });
  const place = { root, home: join(root, "home"), workspace: join(root, "workspace") };
  await mkdir(place.workspace);
  for (const [name, text] of Object.entries(files)) await writeFile(join(place.workspace, name), text);
  return place;
}

async function makeRoot(): Promise<string> {
  return mkdtemp(join(await realpath(tmpdir()), "coxswain-demo-"));
}
