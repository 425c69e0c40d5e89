import { messageOf } from '@dovetail/core-ports';
import { Environment } from '@marcbachmann/cel-js';

import { parseMillis } from '../model/quantity.js';
import { patternOf } from './validate.js';

type Values = { readonly self: unknown; readonly oldSelf: unknown };

/** A parsed rule, or the reason why it does not parse. */
export type CompiledRule = {
  /** The parse error; absent when the rule is good. */
  readonly problem?: string;
  readonly usesOldSelf: boolean;
  /** Evaluates the rule. A rule that fails to evaluate does not hold, and `problem` says why. */
  readonly run: (values: Values) => { readonly holds: boolean; readonly problem?: string };
  /** The value of a message expression; undefined when it is no text or blank. */
  readonly text: (values: Values) => string | undefined;
};

/** A quantity in CEL, in thousandths of a unit. */
class Quantity {
  readonly millis: number;
  constructor(millis: number) {
    this.millis = millis;
  }
}

function quantityOf(text: string): Quantity {
  const millis = parseMillis(text);
  if (millis === undefined) throw new Error(`invalid quantity ${JSON.stringify(text)}`);
  return new Quantity(millis);
}

const compare = (left: unknown, right: unknown): number =>
  (left as bigint) < (right as bigint) ? -1 : (left as bigint) > (right as bigint) ? 1 : 0;
const isSorted = (list: readonly unknown[]): boolean =>
  list.every((item, index) => index === 0 || compare(list[index - 1], item) <= 0);
const least = (list: readonly unknown[], sign: 1 | -1): unknown => {
  if (list.length === 0) throw new Error(`${sign === 1 ? 'min' : 'max'} called on empty list`);
  return list.reduce((best, item) => (compare(item, best) * sign < 0 ? item : best));
};
const matchesOf = (text: string, pattern: string, limit: bigint): readonly string[] => {
  const found = [...text.matchAll(new RegExp(patternOf(pattern).source, 'gu'))].map(
    (match) => match[0],
  );
  return limit < 0n ? found : found.slice(0, Number(limit));
};
const isUrl = (text: string): boolean => URL.canParse(text);
const total = (list: readonly unknown[]): unknown =>
  list.reduce(
    (sum, item) => (typeof item === 'bigint' ? (sum as bigint) + item : Number(sum) + Number(item)),
    typeof list[0] === 'bigint' || list.length === 0 ? 0n : 0,
  );

/** Kubernetes' quantity library for CEL, as far as rules in use call it. */
const withQuantities = (environment: Environment): Environment =>
  environment
    .registerType('Quantity', Quantity)
    .registerFunction('quantity(string): Quantity', quantityOf)
    .registerFunction('isQuantity(string): bool', (text: string) => parseMillis(text) !== undefined)
    .registerFunction(
      'Quantity.isGreaterThan(Quantity): bool',
      (left: Quantity, right: Quantity) => left.millis > right.millis,
    )
    .registerFunction(
      'Quantity.isLessThan(Quantity): bool',
      (left: Quantity, right: Quantity) => left.millis < right.millis,
    )
    .registerFunction('Quantity.compareTo(Quantity): int', (left: Quantity, right: Quantity) =>
      BigInt(Math.sign(left.millis - right.millis)),
    )
    .registerFunction('Quantity.asInteger(): int', (quantity: Quantity) =>
      BigInt(Math.trunc(quantity.millis / 1000)),
    );

/** Kubernetes' URL, regular expression and string functions. */
const withTexts = (environment: Environment): Environment =>
  environment
    .registerFunction('isURL(string): bool', isUrl)
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => matchesOf(text, pattern, 1n)[0] ?? '',
    )
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) =>
      matchesOf(text, pattern, -1n),
    )
    .registerFunction('string.findAll(string, int): list<string>', matchesOf)
    .registerFunction(
      'string.replace(string, string): string',
      (text: string, from: string, to: string) => text.replaceAll(from, () => to),
    );

/** Kubernetes' list library. */
const withLists = (environment: Environment): Environment =>
  environment
    .registerFunction('list.isSorted(): bool', isSorted)
    .registerFunction('list.min(): dyn', (list: readonly unknown[]) => least(list, 1))
    .registerFunction('list.max(): dyn', (list: readonly unknown[]) => least(list, -1))
    .registerFunction('list.sum(): dyn', total)
    .registerFunction('list.indexOf(dyn): int', (list: readonly unknown[], item: unknown) =>
      BigInt(list.indexOf(item)),
    )
    .registerFunction('list.lastIndexOf(dyn): int', (list: readonly unknown[], item: unknown) =>
      BigInt(list.lastIndexOf(item)),
    );

let environment: Environment | undefined;

const environmentOf = (): Environment =>
  (environment ??= withLists(
    withTexts(
      withQuantities(
        new Environment({ homogeneousAggregateLiterals: false, enableOptionalTypes: true })
          .registerVariable('self', 'dyn')
          .registerVariable('oldSelf', 'dyn'),
      ),
    ),
  ));

/** Rewrites conversion errors to the words of Kubernetes' own CEL. */
const conversionText = (message: string): string =>
  message.replace(
    /^(int|double|uint)\(\) type error: cannot convert to \w+.*$/,
    "type conversion error from 'string' to '$1'",
  );

/** The first line of what CEL threw, in the words of Kubernetes. */
const celMessageOf = (thrown: unknown): string =>
  conversionText(messageOf(thrown).split('\n')[0] ?? '');

const compiled = new Map<string, CompiledRule>();

function compile(source: string): CompiledRule {
  const usesOldSelf = /\boldSelf\b/.test(source);
  try {
    const rule = environmentOf().parse(source);
    const run = (values: Values): unknown => rule(values);
    return {
      usesOldSelf,
      run: (values) => {
        try {
          return { holds: run(values) === true };
        } catch (thrown) {
          return { holds: false, problem: celMessageOf(thrown) };
        }
      },
      text: (values) => {
        try {
          const said = run(values);
          return typeof said === 'string' && said.trim() !== '' ? said : undefined;
        } catch {
          return undefined; // Kubernetes then falls back to the rule's plain message.
        }
      },
    };
  } catch (thrown) {
    return {
      usesOldSelf,
      problem: celMessageOf(thrown),
      run: () => ({ holds: true }),
      text: () => undefined,
    };
  }
}

/** Parses a rule, once per source text. */
export function compileRule(source: string): CompiledRule {
  let rule = compiled.get(source);
  if (rule === undefined) {
    rule = compile(source);
    compiled.set(source, rule);
  }
  return rule;
}
