import { open } from 'node:fs/promises';

const bytesMax = 16_384;

/** The last lines of a log file; an empty string when there is none. */
export async function lastLinesOf(logFile: string, linesMax = 15): Promise<string> {
  try {
    const file = await open(logFile, 'r');
    try {
      const { size } = await file.stat();
      const length = Math.min(size, bytesMax);
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return lastLines(buffer.toString('utf8'), linesMax);
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}

/** The last lines of a text, without the empty ones. */
export const lastLines = (text: string, linesMax: number): string =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-linesMax)
    .join('\n');
