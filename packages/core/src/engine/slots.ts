/** A list of which every version stays as it was: a change copies a few short arrays, however long the list is. */

/** Short enough to be copied at each change, and more than most answers have calls. */
const width = 32;

/** All branches of a list are equally deep; only its lowest nodes have items. */
interface Node<Item> {
  readonly items: readonly Item[];
  readonly nodes: readonly Node<Item>[];
}

const nothing: Node<never> = { items: [], nodes: [] };

export class Slots<Item> {
  readonly length: number;
  readonly #root: Node<Item>;
  /** Of as many items as its depth allows: a power of the width. */
  readonly #capacity: number;

  private constructor(length: number, root: Node<Item>, capacity: number) {
    this.length = length;
    this.#root = root;
    this.#capacity = capacity;
  }

  static empty<Item>(): Slots<Item> {
    return new Slots<Item>(0, nothing, width);
  }

  at(index: number): Item | undefined {
    return index < this.length ? find(this.#root, this.#capacity, index) : undefined;
  }

  /** @param index Of an item that is there. */
  with(index: number, item: Item): Slots<Item> {
    return new Slots(this.length, put(this.#root, this.#capacity, index, item), this.#capacity);
  }

  pushed(item: Item): Slots<Item> {
    const isFull = this.length === this.#capacity;
    const root = isFull ? { items: [], nodes: [this.#root] } : this.#root;
    const capacity = isFull ? this.#capacity * width : this.#capacity;
    return new Slots(this.length + 1, put(root, capacity, this.length, item), capacity);
  }
}

function find<Item>(node: Node<Item> | undefined, capacity: number, index: number): Item | undefined {
  if (capacity === width) return node?.items[index];
  const size = capacity / width;
  return find(node?.nodes[Math.floor(index / size)], size, index % size);
}

function put<Item>(node: Node<Item>, capacity: number, index: number, item: Item): Node<Item> {
  if (capacity === width) return { items: replaced(node.items, index, item), nodes: [] };
  const size = capacity / width;
  const position = Math.floor(index / size);
  const changed = put(node.nodes[position] ?? nothing, size, index % size, item);
  return { items: [], nodes: replaced(node.nodes, position, changed) };
}

/** @param index Of a value that is there, or of the next one. */
function replaced<Value>(values: readonly Value[], index: number, value: Value): readonly Value[] {
  const copy = [...values];
  copy[index] = value;
  return copy;
}
