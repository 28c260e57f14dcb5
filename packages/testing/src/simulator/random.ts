/** Everything that is drawn comes from here: the same seed, the same draws, on every machine. */
import { uniformInt } from "pure-rand/distribution/uniformInt";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

const precision = 1_000_000;

export class Random {
  readonly #generator: ReturnType<typeof xoroshiro128plus>;

  /** @param stream Streams of one seed do not disturb each other. */
  constructor(seed: number, stream: number) {
    this.#generator = xoroshiro128plus(scrambled(seed, stream));
    // Seeds next to each other begin alike.
    for (let skipped = 0; skipped < 8; skipped += 1) this.#generator.next();
  }

  /** Both ends included. */
  int(min: number, max: number): number {
    return uniformInt(this.#generator, min, max);
  }

  chance(probability: number): boolean {
    return this.int(0, precision - 1) < probability * precision;
  }

  pick<T>(values: readonly [T, ...T[]]): T {
    return values[this.int(0, values.length - 1)] ?? values[0];
  }

  /** A position in a list of weights. */
  weighted(weights: readonly number[]): number {
    let left = this.int(
      1,
      weights.reduce((sum, weight) => sum + weight, 0),
    );
    for (const [index, weight] of weights.entries()) {
      left -= weight;
      if (left <= 0) return index;
    }
    return weights.length - 1;
  }
}

function scrambled(seed: number, stream: number): number {
  let mixed = Math.imul(seed ^ Math.imul(stream + 1, 0x9e3779b1), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16) ^ Math.floor(seed / 2 ** 32)) | 0;
}
