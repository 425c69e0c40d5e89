/**
 * Amounts of resources, as integers in one unit each: `cpu` in millicores, everything else in whole units
 * (bytes for memory and storage, counts for pods, devices and hugepages in bytes).
 * A key that is absent means zero.
 */
export type Resources = Readonly<Record<string, number>>;
