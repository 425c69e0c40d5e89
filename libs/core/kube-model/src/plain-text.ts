/** A longer word is none that a person reads: the longest name of an object has 253 characters. */
const wordMax = 256;

/** More than any sentence has that lists a hundred pools. */
const textMax = 16_384;

/**
 * Characters that a terminal, a chat or a page obeys instead of showing them: control characters
 * with line breaks, halves of characters, marks that turn the direction of text, and those of no
 * width.
 */
const obeyed = /[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

const longWord = new RegExp(`(\\S{${wordMax - 1}})\\S{2,}`, 'gu');

/** The beginning of a text, without half a character at its end. */
const wholeCharacters = (text: string, length: number): string =>
  text.slice(0, length).replace(/[\ud800-\udbff]$/, '');

const shown = (character: string): string =>
  `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;

/**
 * One line of text for people, from text that others wrote: the API server lets names of volumes,
 * values of affinities and messages of kubelets hold anything. Characters that steer a terminal
 * become visible escapes (`\u001b`, as in JSON), words over 256 characters are cut, and so is the
 * whole after 16,384. Text without these is answered as it is.
 */
export function plainText(text: string): string {
  const whole = text.length > textMax ? `${wholeCharacters(text, textMax - 1)}…` : text;
  return whole.replace(obeyed, shown).replace(longWord, '$1…');
}

/** The same for lines of our own making: they stay apart, and so do their tabs. */
export const plainLines = (text: string): string =>
  text.replace(obeyed, (character) =>
    character === '\n' || character === '\t' ? character : shown(character),
  );
