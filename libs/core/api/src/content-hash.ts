import { lookUp } from '@dovetail/core-invariant';

/** The version of `contentHash`. It must change whenever equal content could hash differently. */
export const hashVersion = 'dovetail-v1';

/** Writes content in one spelling: keys in order, lists sorted, absent and empty parts left out. */
function canonical(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item) => canonical(item) ?? 'null').sort();
    return items.length === 0 ? undefined : `[${items.join(',')}]`;
  }
  if (typeof value === 'object') {
    const fields = value as Readonly<Record<string, unknown>>;
    const entries = Object.keys(fields)
      .sort()
      .flatMap((key) => {
        const text = canonical(lookUp(fields, key));
        return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
      });
    return entries.length === 0 ? undefined : `{${entries.join(',')}}`;
  }
  return JSON.stringify(value);
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, '0');

/**
 * Hashes a text to 64 bits in two 32-bit lanes that feed each other (multiply-xor mixing; not
 * cryptographic).
 */
function hash64(text: string): string {
  let left = 0x9e37_79b9;
  let right = 0x85eb_ca6b;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    left = Math.imul(left ^ unit, 0x9e37_79b1);
    right = Math.imul(right ^ unit, 0x5f35_6495);
  }
  left =
    Math.imul(left ^ (left >>> 16), 0x85eb_ca6b) ^ Math.imul(right ^ (right >>> 13), 0xc2b2_ae35);
  right =
    Math.imul(right ^ (right >>> 16), 0x85eb_ca6b) ^ Math.imul(left ^ (left >>> 13), 0xc2b2_ae35);
  return hex(right) + hex(left);
}

/**
 * Identifies content in 16 hexadecimal digits. The order of lists and keys does not count, nor does
 * the difference between absent and empty. Nodes whose hash differs from their pool's have drifted.
 */
export const contentHash = (content: unknown): string => hash64(canonical(content) ?? '');
