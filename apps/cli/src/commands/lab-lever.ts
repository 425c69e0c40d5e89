import type * as Levers from '../lab/levers.js';
import type { LabTwin } from '../lab/twin.js';
import { terminal } from '../terminal.js';

/** The exit codes of every lever. */
export const codes = `
Exit codes: 0 done; 64 bad flags, or the lab refuses; 66 there is no such node; 69 no lab runs in this folder, or it does not answer.`;

/** How to see the effect of a lever. */
export const watch = `
Watch the effect in another terminal: dovetail decisions --follow --since 0s. docs/guides/try-it.md shows each lever.`;

/** The help of a lever: notes, examples and exit codes. */
export const exampleText = (lines: readonly string[], notes = ''): string =>
  `\n${notes === '' ? '' : `${notes}\n`}${watch.trimStart()}\n\nExamples:\n${lines.map((line) => `  $ dovetail lab ${line}`).join('\n')}\n${codes}`;

/** The order of a lever. Its module is loaded when a command line needs it. */
type Pull = (twin: LabTwin, levers: typeof Levers) => Promise<string> | string;

/** Moves a lever, and prints its effect. */
export async function pull(order: Pull): Promise<void> {
  const [levers, { LabError, labExitCodes, LabTwin: Twin }] = await Promise.all([
    import('../lab/levers.js'),
    import('../lab/twin.js'),
  ]);
  try {
    terminal.out(`${(await order(new Twin(), levers)).trimEnd()}\n`);
    process.exitCode = labExitCodes.done;
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    terminal.err(`${error.message}\n`);
    process.exitCode = error.exitCode;
  }
}

/** The flag of levers that can be let go again. */
export const undoOption = ['--undo', 'end the effect of earlier orders', false] as const;
