import type { Decision } from '@dovetail/contracts';

/** The parts of a decision in words, `-` for one that it does not have. */
export type DecisionWords = {
  /** A NodePool's name; of another kind, with its kind. */
  readonly pool: string;
  /** US dollars an hour, `~` before an estimate. */
  readonly price: string;
  /** The codes of why something was not done. */
  readonly codes: readonly string[];
};

/** The words for a decision in tables and messages. */
export const decisionWords = (decision: Decision): DecisionWords => ({
  pool: poolOf(decision),
  price: priceOf(decision),
  codes: codesOf(decision),
});

const poolOf = ({ pool }: Decision): string =>
  pool === undefined ? '-' : pool.kind === 'NodePool' ? pool.name : `${pool.kind}/${pool.name}`;

function priceOf({ priceMicrosPerHour, priceEstimated }: Decision): string {
  return priceMicrosPerHour === undefined
    ? '-'
    : `${priceEstimated === true ? '~' : ''}${(priceMicrosPerHour / 1e6).toFixed(4)}`;
}

/**
 * A plan or an admission that leaves no pod out has the reasons why its nodes are what they are,
 * which would read as failures.
 */
function codesOf({ kind, reasons, facts }: Decision): readonly string[] {
  const isDone = kind === 'admit' || (kind === 'plan' && facts['unplaced'] === '0');
  return isDone ? [] : [...new Set(reasons.map(({ code }) => code))];
}
