/** Our own part of `fidelity` and of `providerOptions`; the rest belongs to the provider. */
export const ownNamespace = "coxswain";
