import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A kept run of a benchmark: its options, its minutes, and its day. */
type Took = { readonly options: string; readonly minutes: number; readonly day: string };

const file = join(import.meta.dirname, 'results', 'times.json');
const read = (): Readonly<Record<string, Took>> =>
  existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, Took>>)
    : {};

/**
 * Says how long the last kept run of a benchmark took, runs it, and says how long this one took.
 * With KEEP_RESULTS=1 it keeps that.
 */
export async function timed(
  name: string,
  args: readonly string[],
  run: () => Promise<void>,
): Promise<void> {
  const last = read()[name];
  const expected =
    last === undefined
      ? 'it was not timed yet'
      : `it took ${String(last.minutes)} minutes on ${last.day} with ${last.options || 'no options'}`;
  process.stderr.write(`${name}: ${expected}\n`);
  const startedMs = performance.now();
  await run();
  const minutes = Number(((performance.now() - startedMs) / 60_000).toFixed(1));
  process.stderr.write(`${name}: took ${String(minutes)} minutes\n`);
  if (process.env['KEEP_RESULTS'] !== '1') return;
  const day = new Date().toISOString().slice(0, 10);
  const all = { ...read(), [name]: { options: args.join(' '), minutes, day } };
  writeFileSync(file, `${JSON.stringify(all, null, 2)}\n`);
}
