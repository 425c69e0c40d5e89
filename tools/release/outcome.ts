// How the steps of a release end, and how they are told.

/** A step could not be tried on this machine. The message says for want of what. */
export class LeftOut extends Error {
  override readonly name = 'LeftOut';
}

/** The end of a step, with one line that says what was made or why not. */
export type Outcome = {
  readonly kind: 'done' | 'left out' | 'failed';
  readonly step: string;
  readonly text: string;
};

/** Work of a step. Answers what it made; throws LeftOut if this machine cannot try it. */
export type Step = () => string | Promise<string>;

const lastLines = (text: string): string => text.trim().split('\n').slice(-12).join('\n');

/** Why a program failed: the end of what it said, or else its message. */
const reasonOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  const { stdout = '', stderr = '' } = thrown as Error & {
    readonly stdout?: string;
    readonly stderr?: string;
  };
  const said = `${stdout}${stderr}`.trim();
  return lastLines(said === '' ? thrown.message : said);
};

/**
 * Takes the step and prints its end. Never throws: the steps after it are tried all the same. A
 * step that is needed fails where it cannot be tried: a release would lack what it makes.
 */
export async function take(step: string, work: Step, { isNeeded = false } = {}): Promise<Outcome> {
  const outcome = await Promise.resolve()
    .then(work)
    .then(
      (text): Outcome => ({ kind: 'done', step, text }),
      (thrown: unknown): Outcome =>
        thrown instanceof LeftOut && !isNeeded
          ? { kind: 'left out', step, text: thrown.message }
          : { kind: 'failed', step, text: reasonOf(thrown) },
    );
  process.stdout.write(`${lineOf(outcome)}\n`);
  return outcome;
}

const leads = { done: 'done', 'left out': 'LEFT OUT:', failed: 'FAILED:' } as const;

/** The line of an outcome: `done      image: …`. */
const lineOf = ({ kind, step, text }: Outcome): string =>
  `${leads[kind].padEnd(10)}${step}: ${text}`;

/** The last line: how many steps ended in which way. */
export function totalOf(outcomes: readonly Outcome[]): string {
  const count = (kind: Outcome['kind']): number =>
    outcomes.filter((outcome) => outcome.kind === kind).length;
  return `${String(count('done'))} done, ${String(count('failed'))} failed, ${String(count('left out'))} left out`;
}
