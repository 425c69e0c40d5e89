import { keepingMutants } from './keeping.js';
import { launcherMutants } from './launcher.js';
import type { Mutant } from './mutant.js';
import { platformMutants } from './platform.js';
import { reaperMutants } from './reaper.js';

/**
 * Mistakes that the tests must notice. Each is a line that exists because of a race, a crash or a
 * lost answer, in a shell that few tests pass by.
 */
export const mutants: readonly Mutant[] = [
  ...reaperMutants,
  ...launcherMutants,
  ...platformMutants,
  ...keepingMutants,
];

/** The text of a file with the mistake in it. Throws if the line is not there exactly once. */
export function planted(text: string, { place, from, to }: Mutant): string {
  const count = text.split(from).length - 1;
  if (count !== 1)
    throw new Error(`${place} has the line ${String(count)} times, not once: ${from}`);
  return text.replace(from, () => to);
}

/** A text as a cell of a table of the page. */
export const cell = (text: string): string =>
  text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim();

/** The row of a mistake in the page of results, up to the test that noticed it. */
export const rowOf = ({ place, from, to, means }: Mutant): string =>
  `| \`${place.replace(/^libs\//, '')}\` | \`${cell(from)}\` → \`${cell(to)}\` | ${cell(means)} |`;
