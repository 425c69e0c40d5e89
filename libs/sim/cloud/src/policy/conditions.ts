import { matches } from './pattern.js';

/** The values of each condition key that a request has, by the key in small letters. */
export type RequestContext = ReadonlyMap<string, readonly string[]>;

/** One line of a condition block: a key of the request compared with the policy's values. */
export type Condition = {
  readonly operator: Operator;
  /** `all` is ForAllValues, and `any` is ForAnyValue. */
  readonly quantifier: 'none' | 'all' | 'any';
  readonly ifExists: boolean;
  /** In small letters, because keys do not depend on case. */
  readonly key: string;
  readonly values: readonly string[];
};

const equal = (value: string, wanted: string): boolean => value === wanted;
const equalIgnoringCase = (value: string, wanted: string): boolean =>
  value.toLowerCase() === wanted.toLowerCase();
const like = (value: string, wanted: string): boolean => matches(wanted, value);

/** How each served operator compares, and whether it is true when nothing is equal. */
const operators = {
  StringEquals: { compare: equal, negated: false },
  StringNotEquals: { compare: equal, negated: true },
  StringEqualsIgnoreCase: { compare: equalIgnoringCase, negated: false },
  StringNotEqualsIgnoreCase: { compare: equalIgnoringCase, negated: true },
  StringLike: { compare: like, negated: false },
  StringNotLike: { compare: like, negated: true },
  // IAM treats both operators of ARNs alike: each has wildcards.
  ArnEquals: { compare: like, negated: false },
  ArnLike: { compare: like, negated: false },
  ArnNotEquals: { compare: like, negated: true },
  ArnNotLike: { compare: like, negated: true },
  Bool: { compare: equalIgnoringCase, negated: false },
  Null: { compare: equal, negated: false },
} as const;

/** A condition operator of IAM that the evaluator knows. */
type Operator = keyof typeof operators;

const isOperator = (name: string): name is Operator => Object.hasOwn(operators, name);

/** The parts of an operator's name, or undefined when the evaluator does not know it. */
export function operatorOf(
  name: string,
): Pick<Condition, 'operator' | 'quantifier' | 'ifExists'> | undefined {
  const [, set, plain = '', suffix] =
    /^(ForAllValues:|ForAnyValue:)?(\w+?)(IfExists)?$/.exec(name) ?? [];
  // IAM has no NullIfExists.
  if (!isOperator(plain) || (plain === 'Null' && suffix !== undefined)) return undefined;
  return {
    operator: plain,
    quantifier: set === undefined ? 'none' : set === 'ForAllValues:' ? 'all' : 'any',
    ifExists: suffix !== undefined,
  };
}

/** All names of operators without prefix and suffix, for error messages. */
export const operatorNames: readonly string[] = Object.keys(operators);

/**
 * Whether the condition holds for the request. A key that the request does not have meets negated
 * operators, ForAllValues and operators with IfExists, and no others.
 */
export function holds(condition: Condition, context: RequestContext): boolean {
  const given = context.get(condition.key) ?? [];
  if (condition.operator === 'Null') return condition.values.includes(String(given.length === 0));
  const { compare, negated } = operators[condition.operator];
  if (given.length === 0) return negated || condition.ifExists || condition.quantifier === 'all';
  const meets = (value: string): boolean =>
    condition.values.some((wanted) => compare(value, wanted)) !== negated;
  // Without a quantifier a negated operator holds only if no value is equal.
  const every = condition.quantifier === 'all' || (condition.quantifier === 'none' && negated);
  return every ? given.every(meets) : given.some(meets);
}
