/** The numbers of the kernel's calls, which differ between processors. */

export interface Architecture {
  /** As the kernel names it to a filter. */
  auditId: number;
  /** Calls from here on are another interface to the same kernel. */
  foreignCallsFrom?: number | undefined;
  calls: {
    socket: number;
    socketPair: number;
    /** Rings that make sockets past every filter, and keys that the host's processes hold. */
    withheld: readonly number[];
  };
}

const rings = [425, 426, 427];

/** By the name that Node gives them. */
export const architectures: Readonly<Record<string, Architecture>> = {
  x64: {
    auditId: 0xc000003e,
    foreignCallsFrom: 0x40000000,
    calls: { socket: 41, socketPair: 53, withheld: [...rings, 248, 249, 250] },
  },
  arm64: {
    auditId: 0xc00000b7,
    calls: { socket: 198, socketPair: 199, withheld: [...rings, 217, 218, 219] },
  },
};
