/** What a life may hold. Each can be left out, to see whether a failure needs it. */
export const features = [
  "interrupts",
  "deaths",
  "torn records",
  "steering",
  "compaction",
  "model faults",
  "silent parts",
  "slow disk",
  "disk faults",
  "slow reader",
  "denials",
  "tool faults",
  "children",
  "background work",
  "turn limits",
] as const;

export type Feature = (typeof features)[number];

export type FeatureSet = ReadonlySet<Feature>;

export function isFeature(name: string): name is Feature {
  return (features as readonly string[]).includes(name);
}
