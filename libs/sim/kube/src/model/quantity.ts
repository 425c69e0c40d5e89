import { lookUp, put } from '@dovetail/core-invariant';

const suffixes: Readonly<Record<string, number>> = {
  '': 1,
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};
const pattern = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])?)$/;

/**
 * A Kubernetes quantity in thousandths, rounded up as Kubernetes does; undefined when the text is
 * no quantity.
 */
export function parseMillis(quantity: string | number): number | undefined {
  const match = pattern.exec(String(quantity));
  if (match === null) return undefined;
  const factor =
    match[2] === undefined ? (lookUp(suffixes, match[3] ?? '') ?? 1) : Number(`1${match[2]}`);
  const millis = Number(match[1]) * factor * 1000;
  const rounded = Math.round(millis);
  return Math.abs(millis - rounded) < 1e-6 * Math.max(1, Math.abs(millis) * 1e-9)
    ? rounded
    : Math.ceil(millis);
}

/** Amounts in thousandths of their unit; absent means zero. */
export type Amounts = Readonly<Record<string, number>>;

/** Parses every quantity. Other text counts as zero, because validation refused it before. */
export function amountsOf(
  quantities: Readonly<Record<string, string | number>> | undefined,
): Amounts {
  const amounts: Record<string, number> = {};
  for (const [name, quantity] of Object.entries(quantities ?? {}))
    put(amounts, name, parseMillis(quantity) ?? 0);
  return amounts;
}

/** The sum of two amounts, resource by resource. */
export function addAmounts(left: Amounts, right: Amounts): Amounts {
  const sum: Record<string, number> = { ...left };
  for (const [name, amount] of Object.entries(right))
    put(sum, name, (lookUp(sum, name) ?? 0) + amount);
  return sum;
}

/** The larger of two amounts, resource by resource. */
export function maxAmounts(left: Amounts, right: Amounts): Amounts {
  const most: Record<string, number> = { ...left };
  for (const [name, amount] of Object.entries(right))
    put(most, name, Math.max(lookUp(most, name) ?? 0, amount));
  return most;
}

/**
 * The canonical text of an amount in thousandths: whole units, else `m`; memory and storage in the
 * largest binary unit that divides them.
 */
export function quantityText(name: string, millis: number): string {
  if (millis % 1000 !== 0) return `${millis}m`;
  const units = millis / 1000;
  if (!name.includes('memory') && !name.includes('storage')) return String(units);
  for (const suffix of ['Ei', 'Pi', 'Ti', 'Gi', 'Mi', 'Ki']) {
    const factor = lookUp(suffixes, suffix) ?? 1;
    if (units !== 0 && units % factor === 0) return `${units / factor}${suffix}`;
  }
  return String(units);
}
