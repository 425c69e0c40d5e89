import { createHash } from 'node:crypto';

import { compareText } from '@dovetail/core-kube-model';

/**
 * `length` hexadecimal digits (at most 64) that depend on the parts alone, so that every run of a
 * seed has the same ids.
 */
export function hexOf(length: number, ...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join('\u0000')).digest('hex').slice(0, length);
}

/** A number in [0, 1) that depends on the parts alone. */
export function fractionOf(...parts: readonly (string | number)[]): number {
  return Number.parseInt(hexOf(12, ...parts), 16) / 2 ** 48;
}

/** A UUID that depends on the parts alone. */
export function uuidOf(...parts: readonly (string | number)[]): string {
  const hex = hexOf(32, ...parts);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** The text of a value with its keys in order, so that equal values have equal text. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(
          Object.entries(inner).sort(([left], [right]) => compareText(left, right)),
        )
      : inner,
  );
}
