/** The operators of a node selector requirement, with Karpenter's Gte and Lte. */
export type Operator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | 'Gte' | 'Lte';

/** One requirement as people write it in a manifest. `minValues` is Karpenter's: how many distinct values must stay possible. */
export type RequirementSpec = {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
  readonly minValues?: number;
};

/**
 * The values that one label key may take: a finite set (`in`), or all values but a finite set (`notIn`), narrowed by
 * inclusive integer bounds. With a bound set, values that are not integers never match.
 * `notIn` also admits the label's absence unless `present` is true (Exists, Gt and Lt demand the label).
 */
export type ValueSet = {
  readonly kind: 'in' | 'notIn';
  readonly values: ReadonlySet<string>;
  readonly gte?: number;
  readonly lte?: number;
  readonly present: boolean;
  readonly minValues?: number;
};

/** All requirements of one subject: a conjunction, at most one set per key (aliases already turned into canonical keys). */
export type Requirements = ReadonlyMap<string, ValueSet>;
