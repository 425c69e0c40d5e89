/** The operators of a node selector requirement, with Karpenter's Gte and Lte. */
export type Operator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | 'Gte' | 'Lte';

/**
 * One requirement of a manifest. `minValues` is Karpenter's: so many distinct values must stay
 * possible.
 */
export type RequirementSpec = {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
  readonly minValues?: number;
};

/**
 * The values that one label key may take: a finite set (`in`), or all values but a finite set
 * (`notIn`), narrowed by inclusive integer bounds. With a bound, only integers match.
 *
 * Without `present` the label may also be absent; Exists, Gt and Lt demand it.
 * Invariant: a result of `intersectSets` has bounds only if it is `notIn`, and then gte <= lte.
 */
export type ValueSet = {
  readonly kind: 'in' | 'notIn';
  readonly values: ReadonlySet<string>;
  readonly gte?: number;
  readonly lte?: number;
  readonly present: boolean;
  readonly minValues?: number;
};

/**
 * All requirements of one subject, of which each must hold. Invariant: keys are canonical, never
 * aliases.
 */
export type Requirements = ReadonlyMap<string, ValueSet>;
