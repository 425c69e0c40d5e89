import { run } from '../process/run.js';

const deadlineMs = 20_000;

/**
 * Runs a program for its version and returns the first group of the pattern; undefined when that
 * fails.
 */
export async function versionOf(
  path: string,
  args: readonly string[],
  pattern: RegExp,
): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run(path, args, {
      deadlineMs,
      remedy: 'obtain the program again',
    });
    return pattern.exec(stdout + stderr)?.[1];
  } catch {
    return undefined;
  }
}

/** Whether a version like 2.11.3 is at least one like 2.11. Suffixes such as -rc.1 are ignored. */
export function isAtLeast(version: string, wanted: string): boolean {
  const [have, want] = [numbersOf(version), numbersOf(wanted)];
  for (const [place, number] of want.entries()) {
    const difference = (have[place] ?? 0) - number;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

const numbersOf = (version: string): readonly number[] =>
  (/\d+(\.\d+)*/.exec(version)?.[0] ?? '').split('.').map(Number);
