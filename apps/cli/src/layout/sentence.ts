import type { Layout } from './columns.js';

/** A sentence in lines that fit the terminal, broken between words. Elsewhere it is one line. */
export function sentence(text: string, { width = Number.POSITIVE_INFINITY }: Layout): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.join('\n');
}
