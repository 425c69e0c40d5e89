import { lookUp } from '@dovetail/core-invariant';

const pattern = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+)|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]))?$/;
const decimalPowers: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const decimalSuffixes: Readonly<Record<number, string>> = {
  [-9]: 'n',
  [-6]: 'u',
  [-3]: 'm',
  0: '',
  3: 'k',
  6: 'M',
  9: 'G',
  12: 'T',
  15: 'P',
  18: 'E',
};
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const seen = new Map<string, string | undefined>();

/**
 * The text in which Kubernetes stores a quantity: no fraction, the largest suffix that leaves a
 * whole number, and binary suffixes stay binary. Undefined when the text is no quantity.
 */
export function canonicalQuantity(text: string): string | undefined {
  if (seen.has(text)) return seen.get(text);
  const canonical = compute(text);
  if (seen.size < 10_000) seen.set(text, canonical);
  return canonical;
}

function compute(text: string): string | undefined {
  const match = pattern.exec(text);
  if (match === null || (match[2] === '' && match[3] === '')) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent, suffix = ''] = match;
  const digits = BigInt(whole + fraction);
  if (digits === 0n) return '0';
  const minus = sign === '-' ? '-' : '';
  const binary = binarySuffixes.indexOf(suffix);
  if (binary > 0) return minus + binaryText(digits * 1024n ** BigInt(binary), fraction.length);
  const power = exponent === undefined ? (lookUp(decimalPowers, suffix) ?? 0) : Number(exponent);
  return minus + decimalText(digits, power - fraction.length, exponent !== undefined);
}

function binaryText(scaled: bigint, decimals: number): string {
  const divisor = 10n ** BigInt(decimals);
  if (scaled % divisor !== 0n) return decimalText(scaled, -decimals, false);
  let value = scaled / divisor;
  let step = 0;
  while (value % 1024n === 0n && step < 6) {
    value /= 1024n;
    step += 1;
  }
  return `${value}${binarySuffixes[step]}`;
}

function decimalText(digits: bigint, power: number, exponential: boolean): string {
  let value = digits;
  let exponent = power;
  while (exponent < -9) {
    value = value % 10n === 0n ? value / 10n : value / 10n + 1n; // Kubernetes keeps nothing below a billionth and rounds up.
    exponent += 1;
  }
  while (value % 10n === 0n) {
    value /= 10n;
    exponent += 1;
  }
  while (exponent % 3 !== 0 || exponent > 18) {
    value *= 10n;
    exponent -= 1;
  }
  if (exponential) return exponent === 0 ? String(value) : `${value}e${exponent}`;
  return `${value}${decimalSuffixes[exponent] ?? ''}`;
}
