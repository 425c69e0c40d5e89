/** A stream of numbers in [0, 1) that depends on nothing but the seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const hex = '0123456789abcdef';
// Kubernetes' own alphabet for generated names: no vowels, so that no words appear.
const nameLetters = 'bcdfghjklmnpqrstvwxz2456789';

const pick = (random: () => number, letters: string, count: number): string =>
  Array.from({ length: count }, () => letters[Math.floor(random() * letters.length)]).join('');

/** A version 4 UUID from the stream. */
export const uuidFrom = (random: () => number): string =>
  `${pick(random, hex, 8)}-${pick(random, hex, 4)}-4${pick(random, hex, 3)}-${pick(random, '89ab', 1)}${pick(random, hex, 3)}-${pick(random, hex, 12)}`;

/** Five letters, as the API server appends to generateName. */
export const nameSuffix = (random: () => number): string => pick(random, nameLetters, 5);
