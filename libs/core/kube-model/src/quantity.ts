/**
 * Amounts of resources: `cpu` in millicores, memory, storage and hugepages in bytes, everything
 * else as a count. A name that is absent means zero. Invariant: every amount is an integer.
 */
export type Resources = Readonly<Record<string, number>>;
