// One stage of a test run: a program whose output is shown, and counted from its summary lines.
import { spawn } from 'node:child_process';

/** Seconds of one test file, as the summary reporter writes them. */
export type FileTime = { readonly file: string; readonly tookMs: number };

/** The outcome of a stage. `again` names the files that passed only at a second run. */
export type StageResult = {
  readonly name: string;
  readonly tookMs: number;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
  readonly leftOut: readonly string[];
  readonly again: readonly string[];
};

export type Environment = Readonly<Record<string, string>>;

type Counts = {
  passed: number;
  failed: number;
  skipped: number;
  readonly failures: string[];
  readonly leftOut: string[];
};

const noCounts = (): Counts => ({ passed: 0, failed: 0, skipped: 0, failures: [], leftOut: [] });

/** Adds one line of output to the counts if it is a summary, a failure or an omission. */
function count(line: string, counts: Counts): void {
  if (line.includes('LEFT OUT:')) counts.leftOut.push(line.slice(line.indexOf('LEFT OUT:')).trim());
  if (line.includes('FAILED:')) counts.failures.push(line.slice(line.indexOf('FAILED:')).trim());
  const match = /^(?:.*?\s)?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line.trim());
  if (match === null) return;
  counts.passed += Number(match[1]);
  counts.failed += Number(match[2]);
  counts.skipped += Number(match[3] ?? 0);
}

/** The counts of what a stage printed. */
export function countsOf(output: string): Readonly<Counts> {
  const counts = noCounts();
  for (const line of output.split('\n')) count(line, counts);
  return counts;
}

/** Shows output as it comes, and counts its lines. */
function counting(target: NodeJS.WriteStream, counts: Counts): (chunk: string) => void {
  let tail = '';
  return (chunk) => {
    target.write(chunk);
    const lines = (tail + chunk).split('\n');
    tail = lines.pop() ?? '';
    for (const line of lines) count(line, counts);
  };
}

/** Runs a program to its end. One that fails without a failed test counts as one failure. */
export async function runStage(
  name: string,
  args: readonly string[],
  env: Environment,
): Promise<StageResult> {
  const started = performance.now();
  // Compilers and commands under test take any value of it for "colours, please".
  const { FORCE_COLOR: _colour, ...inherited } = process.env;
  const child = spawn(process.execPath, args, {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const counts = noCounts();
  child.stdout.setEncoding('utf8').on('data', counting(process.stdout, counts));
  child.stderr.setEncoding('utf8').on('data', counting(process.stderr, counts));
  const code = await new Promise((resolve) => child.on('close', resolve));
  const result = { name, tookMs: performance.now() - started, again: [], ...counts };
  if (code === 0 || counts.failed > 0) return result;
  const ended = `FAILED: ${name}: ended with ${String(code)}`;
  return { ...result, failed: 1, failures: [...counts.failures, ended] };
}

/** Finds, downloads or builds a part of the testbed before the tests need it. Answers its rows. */
export async function obtained(
  part: string,
): Promise<{ readonly had: boolean; readonly text: string }> {
  const child = spawn(
    'npx',
    ['tsx', '--conditions=@dovetail/source', 'libs/testbed/bin/obtain.ts', part],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  const code = await new Promise((resolve) => child.on('close', resolve));
  return { had: code === 0, text };
}
