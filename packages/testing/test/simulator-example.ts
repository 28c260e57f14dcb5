import { simulate } from "@coxswain/testing";

/** A shop that must never charge the same order twice. */
function shop() {
  const charges = new Map<string, number>();
  return {
    charges,
    tools: {
      charge: ({ order }: Record<string, unknown>) => {
        charges.set(String(order), (charges.get(String(order)) ?? 0) + 1);
        return `charged ${String(order)}`;
      },
      log: async function* () {
        yield "one line\n";
        yield "another\n";
      },
    },
  };
}

export async function liveThroughShops(seeds: number): Promise<string[]> {
  const problems: string[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { charges, tools } = shop();
    let orders = 0;
    const { violation } = await simulate({
      seed,
      tools,
      prompts: ["Charge the open orders.", "Go on."],
      calls: () => [{ name: "charge", arguments: `{"order":"${++orders}"}` }, { name: "log" }],
      check: () => {
        const twice = [...charges].find(([, times]) => times > 1);
        return twice && `order ${twice[0]} was charged ${twice[1]} times`;
      },
    });
    if (violation !== undefined) problems.push(`seed ${seed}: ${violation.invariant}: ${violation.problem}`);
  }
  return problems;
}
