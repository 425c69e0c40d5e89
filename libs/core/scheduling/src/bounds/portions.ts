import { at, float64At, numberAt } from '@dovetail/core-invariant';

import type { Column } from './columns.js';
import type { BoundProblem } from './problem.js';

/** Pods that count as equal: as many units of one resource, the same nodes, and the same rule. */
export type Portion = {
  readonly units: number;
  readonly admission: number;
  /** Whether the rule limits how many of them share a node. */
  readonly limited: boolean;
  readonly count: number;
};

/** The pods of a problem in whole units of one resource. */
export type Portions = {
  readonly list: readonly Portion[];
  /** The units of a node's room. */
  readonly unitsOf: (column: Column) => number;
  /** The most limited pods on a node. */
  readonly most: number;
};

/** The most portions. More of them take longer in each of many rounds. */
const portionsMax = 64;
/** The most pods under the rule on one node. Each is a table of fillings of its own. */
const limitedMax = 4;

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));

/** The rule that wants the most nodes, by index; undefined if no rule limits pods on every node. */
function ruleOf({ rules, classes }: BoundProblem): number | undefined {
  const nodes = rules.map(({ mostEver }, rule) =>
    mostEver > limitedMax
      ? 0
      : classes.reduce(
          (sum, { limitedBy, count }) => sum + (limitedBy.includes(rule) ? count / mostEver : 0),
          0,
        ),
  );
  const most = Math.max(0, ...nodes);
  return most === 0 ? undefined : nodes.indexOf(most);
}

/** Returns the amounts of a resource as whole numbers; undefined if some are fractions. */
function wholeAmounts(problem: BoundProblem, resource: number): readonly number[] | undefined {
  const scale = float64At(problem.scales, resource);
  const amounts = problem.classes.map(({ requests }) => float64At(requests, resource) / scale);
  const whole = amounts.map((amount) => Math.round(amount));
  return whole.every(
    (one, index) => Math.abs(one - numberAt(amounts, index)) < 1e-6 * Math.max(1, one),
  )
    ? whole
    : undefined;
}

/**
 * Returns the pods in units of one resource. Pods that request none are left out, because any
 * number of them fits. Returns undefined if no rule limits some pods on every node, if nobody
 * requests the resource, if there are too many different amounts, or if it takes more than
 * `stepsMax` steps to look through their fillings.
 */
export function portionsOf(
  problem: BoundProblem,
  resource: number,
  stepsMax: number,
): Portions | undefined {
  const scale = float64At(problem.scales, resource);
  const rule = ruleOf(problem);
  if (rule === undefined || scale === 0) return undefined;
  const amounts = wholeAmounts(problem, resource);
  const unit = amounts?.reduce(commonDivisor, 0) ?? 0;
  if (amounts === undefined || unit === 0) return undefined;
  const known = new Map<string, { -readonly [K in keyof Portion]: Portion[K] }>();
  for (const [index, { admission, limitedBy, count }] of problem.classes.entries()) {
    const units = numberAt(amounts, index) / unit;
    if (units === 0) continue;
    const limited = limitedBy.includes(rule);
    const text = `${units} ${admission} ${limited}`;
    const portion = known.get(text);
    if (portion === undefined) known.set(text, { units, admission, limited, count });
    else portion.count += count;
  }
  const list = [...known.values()];
  // Rounding of the scaled amounts must not take away a unit.
  const unitsOf = ({ room }: Column): number =>
    Math.floor((float64At(room, resource) / scale / unit) * (1 + 1e-9));
  const widest = problem.buyable.reduce((most, column) => Math.max(most, unitsOf(column)), 0);
  const most = at(problem.rules, rule).mostEver;
  if (list.length > portionsMax || widest * list.length * (1 + most) > stepsMax) return undefined;
  return { list, unitsOf, most };
}
