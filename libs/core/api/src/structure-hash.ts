const mask = 0xffff_ffff_ffff_ffffn;
/** The offset basis and the prime of 64-bit FNV-1, which Karpenter's hashes use. */
const fnvBasis = 0xcbf2_9ce4_8422_2325n;
const fnvPrime = 0x100_0000_01b3n;

/** Hashes bytes by 64-bit FNV-1. */
function fnv1(bytes: readonly number[]): bigint {
  let hash = fnvBasis;
  for (const byte of bytes) hash = ((hash * fnvPrime) & mask) ^ BigInt(byte);
  return hash;
}

function utf8(text: string): readonly number[] {
  const bytes: number[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) bytes.push(code);
    else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
    else if (code < 0x1_0000)
      bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    else
      bytes.push(
        0xf0 | (code >> 18),
        0x80 | ((code >> 12) & 63),
        0x80 | ((code >> 6) & 63),
        0x80 | (code & 63),
      );
  }
  return bytes;
}

function littleEndian(value: bigint, width: number): readonly number[] {
  const unsigned = BigInt.asUintN(width * 8, value);
  return Array.from({ length: width }, (_, index) =>
    Number((unsigned >> BigInt(8 * index)) & 0xffn),
  );
}

/** Hashes a text as hashstructure does. */
export const textHash = (text: string): bigint => fnv1(utf8(text));
/** Hashes a whole number that takes so many bytes in Go. */
export const numberHash = (value: bigint, width: 1 | 4 | 8): bigint =>
  fnv1(littleEndian(value, width));
const ordered = (a: bigint, b: bigint): bigint =>
  fnv1([...littleEndian(a, 8), ...littleEndian(b, 8)]);
const finished = (hash: bigint): bigint => fnv1(littleEndian(hash, 8));

/** Hashes a list whose order does not count. Equal items cancel each other out, as in Karpenter. */
export const setHash = (items: readonly bigint[]): bigint =>
  items.reduce((hash, item) => hash ^ item, 0n);

/** Hashes a map from the hashes of its values. */
export const mapHash = (entries: readonly (readonly [key: string, value: bigint])[]): bigint =>
  finished(setHash(entries.map(([key, value]) => ordered(textHash(key), value))));

/**
 * Hashes a Go struct from its type's name and the fields that are not zero, in Go's order. The
 * order counts, because format 2 mixes the hash after every field.
 */
export const structHash = (
  typeName: string,
  fields: readonly (readonly [name: string, value: bigint])[],
): bigint =>
  fields.reduce(
    (hash, [name, value]) => finished(hash ^ ordered(textHash(name), value)),
    textHash(typeName),
  );
