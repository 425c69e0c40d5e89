import { labels } from '@dovetail/core-api';
import { admits, canonicalKey, requirementsOf } from '@dovetail/core-kube-model';
import type { BinOption, NewNode } from '@dovetail/core-scheduling';

/** The values of a label that an instance type implies. Undefined: the type is not known. */
export type ValuesOfType = (instanceType: string, key: string) => Iterable<string> | undefined;

/** A number of values that a new node must be able to have. */
type Minimum = { readonly key: string; readonly wanted: number };
/** The same, with fewer values than that. */
export type MissedMinimum = Minimum & { readonly got: number };

/** The minimums of a bin, by its pool. Where the plan had to relax them, there are none. */
function minimumsOf({ requirements, minValuesRelaxed }: NewNode): readonly Minimum[] {
  if (minValuesRelaxed) return [];
  return requirements.flatMap(({ key, minValues }) =>
    minValues === undefined ? [] : [{ key: canonicalKey(key), wanted: minValues }],
  );
}

/**
 * Counts the values of `minValues` among options of a bin, as the launcher does: by all keys, not
 * by the instance type alone. Without `valuesOfType` only types, zones and capacity types count.
 */
export class MinValues {
  readonly #minimums: readonly Minimum[];
  readonly #requirements: ReturnType<typeof requirementsOf>;
  readonly #valuesOfType: ValuesOfType | undefined;

  constructor(bin: NewNode, valuesOfType?: ValuesOfType) {
    this.#minimums = minimumsOf(bin);
    this.#requirements = requirementsOf(bin.requirements);
    this.#valuesOfType = valuesOfType;
  }

  /** The first minimum that these options miss; undefined: they meet all. */
  missedBy(options: readonly BinOption[]): MissedMinimum | undefined {
    for (const { key, wanted } of this.#minimums) {
      const got = this.#valuesAmong(options, key)?.size ?? wanted;
      if (got < wanted) return { key, wanted, got };
    }
    return undefined;
  }

  /** Undefined: the key cannot be counted here. */
  #valuesAmong(options: readonly BinOption[], key: string): ReadonlySet<string> | undefined {
    if (key === labels.instanceType)
      return new Set(options.map(({ instanceType }) => instanceType));
    if (key === labels.zone) return new Set(options.map(({ zone }) => zone));
    if (key === labels.capacityType)
      return new Set(options.map(({ capacityType }) => capacityType));
    const valuesOfType = this.#valuesOfType;
    if (valuesOfType === undefined) return undefined;
    const allowed = this.#requirements.get(key);
    const types = new Set(options.map(({ instanceType }) => instanceType));
    const values = [...types].flatMap((type) => [...(valuesOfType(type, key) ?? [])]);
    return new Set(values.filter((value) => allowed === undefined || admits(allowed, value)));
  }
}
