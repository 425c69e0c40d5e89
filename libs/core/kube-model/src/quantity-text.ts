import { at, lookUp, put } from '@dovetail/core-invariant';

import type { Resources } from './quantity.js';
import { compareText } from './text-order.js';

/**
 * A Kubernetes quantity, exactly: `digits` × 10^`exponent`. Binary suffixes are multiplied into the
 * digits.
 */
type Quantity = { readonly digits: bigint; readonly exponent: number };

const pattern =
  /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)|[eE]([+-]?[0-9]{1,3}))?$/;
const decimalExponents: Readonly<Record<string, number>> = {
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
const binaryExponents: Readonly<Record<string, bigint>> = {
  Ki: 10n,
  Mi: 20n,
  Gi: 30n,
  Ti: 40n,
  Pi: 50n,
  Ei: 60n,
};

/**
 * Reads a quantity as Kubernetes does: `100m`, `1.5Gi`, `2e3`, or a bare JSON number. Undefined
 * when it is none. The syntax is that of k8s.io/apimachinery/pkg/api/resource.
 */
function parseQuantity(text: unknown): Quantity | undefined {
  if (typeof text === 'number')
    return Number.isFinite(text) ? parseQuantity(String(text).replace('e+', 'e')) : undefined;
  if (typeof text !== 'string') return undefined;
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', suffix, power] = match;
  if (whole === '' && fraction === '') return undefined;
  const magnitude = BigInt(`${whole}${fraction}`);
  const binary = suffix === undefined ? undefined : lookUp(binaryExponents, suffix);
  // A binary suffix is spent on the digits, so its decimal exponent is zero.
  const decimal =
    suffix === undefined ? Number(power ?? 0) : (lookUp(decimalExponents, suffix) ?? 0);
  const digits = binary === undefined ? magnitude : magnitude << binary;
  return { digits: sign === '-' ? -digits : digits, exponent: decimal - fraction.length };
}

/**
 * More is a slip, such as 1e400. Kubernetes cuts everything off at 2^63 - 1, which leaves room for
 * limits that are meant to be endless, such as 12E.
 */
const largest = 10n ** 30n;

/**
 * The quantity in units of 10^-`decimals`, rounded away from zero as Kubernetes' ScaledValue does.
 * Undefined when it is more than any cluster has.
 */
function scaled({ digits, exponent }: Quantity, decimals: number): number | undefined {
  const units = scaledUnits({ digits, exponent }, decimals);
  return units > largest || units < -largest ? undefined : Number(units);
}

function scaledUnits(quantity: Quantity, decimals: number): bigint {
  const shift = quantity.exponent + decimals;
  if (shift >= 0) return quantity.digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  const quotient = quantity.digits / divisor;
  const remainder = quantity.digits % divisor;
  return remainder === 0n ? quotient : remainder > 0n ? quotient + 1n : quotient - 1n;
}

// Nearly all quantities have one of these forms. Reading them without BigInt makes parsing pods
// fast.
const plainInteger = /^[0-9]{1,12}$/;
const plainMillis = /^[0-9]{1,12}m$/;
const plainBinary = /^([0-9]{1,6})(Ki|Mi|Gi)$/;

/**
 * Reads CPU in millicores, rounded up. Undefined when the text is not a quantity, or is one that no
 * cluster has. Exact up to 2^53.
 */
export function parseCpuMillis(text: unknown): number | undefined {
  if (typeof text === 'string') {
    if (plainMillis.test(text)) return Number(text.slice(0, -1));
    if (plainInteger.test(text)) return Number(text) * 1000;
  }
  const quantity = parseQuantity(text);
  return quantity === undefined ? undefined : scaled(quantity, 3);
}

/**
 * Reads bytes or a count, rounded up. Undefined when the text is not a quantity, or is one that no
 * cluster has. Exact up to 2^53.
 */
export function parseAmount(text: unknown): number | undefined {
  if (typeof text === 'string') {
    if (plainInteger.test(text)) return Number(text);
    const match = plainBinary.exec(text);
    if (match !== null)
      return (
        Number(match[1]) *
        (match[2] === 'Ki' ? 1024 : match[2] === 'Mi' ? 1_048_576 : 1_073_741_824)
      );
  }
  const quantity = parseQuantity(text);
  return quantity === undefined ? undefined : scaled(quantity, 0);
}

/** Reads the amount of a named resource: millicores for `cpu`, whole units for everything else. */
export const parseResource = (name: string, text: unknown): number | undefined =>
  name === 'cpu' ? parseCpuMillis(text) : parseAmount(text);

/** A resource list that was read: its amounts, or the entry that is no quantity. */
export type ParsedResources =
  | { readonly ok: true; readonly value: Resources }
  | { readonly ok: false; readonly name: string; readonly value: unknown };

/** Reads a Kubernetes resource list such as `{cpu: '1', memory: '2Gi'}`. An absent one is empty. */
export function resourcesOf(raw: unknown): ParsedResources {
  const amounts: Record<string, number> = {};
  if (typeof raw !== 'object' || raw === null) return { ok: true, value: amounts };
  for (const [name, text] of Object.entries(raw)) {
    // The API server reads null as 0 here.
    const amount = text === null ? 0 : parseResource(name, text);
    if (amount === undefined) return { ok: false, name, value: text };
    put(amounts, name, amount);
  }
  return { ok: true, value: amounts };
}

/** Divides by the base as long as nothing is lost, and writes the suffix of that power. */
function scaledText(amount: number, base: number, suffixes: readonly string[]): string {
  let rest = amount;
  let power = 0;
  while (rest !== 0 && rest % base === 0 && power < suffixes.length - 1) {
    rest /= base;
    power += 1;
  }
  return `${rest}${at(suffixes, power)}`;
}

/**
 * Writes the shorter of the binary and decimal spelling, so that 512M and 4Gi stay as they are;
 * binary when they tie.
 */
function formatBytes(bytes: number): string {
  const binary = scaledText(bytes, 1024, ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']);
  const decimal = scaledText(bytes, 1000, ['', 'k', 'M', 'G', 'T', 'P', 'E']);
  return decimal.length < binary.length ? decimal : binary;
}

const inBytes = (name: string): boolean =>
  name === 'memory' ||
  name === 'ephemeral-storage' ||
  name === 'storage' ||
  name.startsWith('hugepages-');

/**
 * Writes an amount in Kubernetes' spelling: `1500m`, `2`, `4Gi`, `110`. Reading the text gives the
 * same amount.
 */
export function formatResource(name: string, amount: number): string {
  if (name === 'cpu') return amount % 1000 === 0 ? String(amount / 1000) : `${amount}m`;
  return inBytes(name) ? formatBytes(amount) : String(amount);
}

/** Writes a resource list in Kubernetes' spelling, sorted by name. */
export function formatResources(resources: Resources): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(resources)
      .toSorted(([a], [b]) => compareText(a, b))
      .map(([name, amount]) => [name, formatResource(name, amount)]),
  );
}
