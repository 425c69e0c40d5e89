// Runs every test through the project graph. Closes with tables of the tests and one line that adds
// all up.
// Usage: tsx tools/test.ts [--only unit|system [PATTERN...]]   (PATTERN selects files of the system
// tests)
// REAL=1 gets the real control plane (built once) and runs on it too; REAL=0 leaves it out; else it
// runs if it is cached.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';

import { closingTables, type TestOutcome } from './closing-table.js';

type Counts = { passed: number; failed: number; skipped: number; failures: readonly string[] };
type Environment = Readonly<Record<string, string>>;

const args = process.argv.slice(2);
const [only, ...patterns] = args.includes('--only') ? args.slice(args.indexOf('--only') + 1) : [];
const leftOut = new Set<string>();

/**
 * Adds one line of output to the counts, if it is a summary. Notes lines that report omitted tests
 * and failures.
 */
function count(line: string, counts: Counts): void {
  if (line.includes('LEFT OUT:')) leftOut.add(line.slice(line.indexOf('LEFT OUT:')).trim());
  if (line.includes('FAILED:'))
    counts.failures = [...counts.failures, line.slice(line.indexOf('FAILED:')).trim()];
  const match = /^(?:.*?\s)?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line.trim());
  if (match === null) return;
  counts.passed += Number(match[1]);
  counts.failed += Number(match[2]);
  counts.skipped += Number(match[3] ?? 0);
}

/** Shows output as it comes, and counts its summary lines. */
function counting(target: NodeJS.WriteStream, counts: Counts): (chunk: string) => void {
  let tail = '';
  return (chunk) => {
    target.write(chunk);
    const lines = (tail + chunk).split('\n');
    tail = lines.pop() ?? '';
    for (const line of lines) count(line, counts);
  };
}

function run(
  command: string,
  commandArgs: readonly string[],
  { env = {}, priority }: { readonly env?: Environment; readonly priority?: number } = {},
): Promise<Counts> {
  return new Promise((resolve) => {
    const child = spawn(command, commandArgs, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (priority !== undefined && child.pid !== undefined) setPriority(child.pid, priority);
    const counts: Counts = { passed: 0, failed: 0, skipped: 0, failures: [] };
    child.stdout.setEncoding('utf8').on('data', counting(process.stdout, counts));
    child.stderr.setEncoding('utf8').on('data', counting(process.stderr, counts));
    child.on('close', (code) => {
      if (code === 0 || counts.failed > 0) return resolve(counts);
      const ended = `FAILED: ${[command, ...commandArgs].join(' ')} ended with ${String(code)}`;
      resolve({ ...counts, failed: 1, failures: [...counts.failures, ended] });
    });
  });
}

const nx = (targets: string, parallel: number, env: Environment = {}): Promise<Counts> =>
  run(
    'npx',
    [
      'nx',
      'run-many',
      '-t',
      targets,
      '--output-style=stream-without-prefixes',
      `--parallel=${parallel}`,
    ],
    { env },
  );

/**
 * These tests run whole systems in real time, so a stalled machine can fail one. A failed test runs
 * once more, and the output says so. A test that needs its second run is a defect to look into, but
 * not a wrong product.
 */
async function withSecondRun(
  subject: string,
  first: () => Promise<Counts>,
  again: () => Promise<Counts>,
): Promise<Counts> {
  const result = await first();
  if (result.failed === 0) return result;
  process.stdout.write(
    `\nSECOND RUN: ${result.failed} of the ${subject} failed; they run once more\n\n`,
  );
  const second = await again();
  if (second.failed > 0) return { ...result, failed: second.failed, failures: second.failures };
  const late = result.failures.map((line) =>
    line.replace('FAILED:', 'SECOND RUN: passed only now:'),
  );
  return { ...result, passed: result.passed + result.failed, failed: 0, failures: late };
}

/** Finds, downloads or builds a part once, before the tests that would otherwise do without it. */
async function obtained(part: string): Promise<{ readonly had: boolean; readonly text: string }> {
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

/**
 * These tests look at services as processes of their own, or at NATS itself. They cannot run
 * without nats-server.
 */
const natsOnly = [
  'tests/e2e/(bad-input|faults|lab|subscribers|placement-left)',
  'tests/conformance/bus/(nats|plain-client|programs)',
  'tests/conformance/kube',
];

/**
 * Leaves out the tests of services as processes if there is no nats-server, and says so in one
 * line.
 */
async function withoutNats(): Promise<readonly string[]> {
  const { had, text } = await obtained('nats');
  if (had) return [];
  const reason = (text.split('\n', 1)[0] ?? '').replace(/^nats-server\s+missing\s+/, '');
  leftOut.add(
    'LEFT OUT: faults, bad input, subscribers, the lab as it is started and pods left to the scheduler, which look at ' +
      `services as processes or at NATS; other tests ran with all services in one process: no nats-server (${reason})`,
  );
  return natsOnly.map((pattern) => `--testPathIgnorePatterns=${pattern}`);
}

const real: Environment =
  { 1: { DOVETAIL_REAL: '1' }, 0: { DOVETAIL_REAL: '' } }[process.env.REAL ?? ''] ?? {};
const scratch = mkdtempSync(join(tmpdir(), 'dovetail-results-'));
const outcomes = join(scratch, 'outcomes.ndjson');
writeFileSync(outcomes, '');

const unitTests = (): Promise<Counts> => nx('test,simulation', 2);

/**
 * The first seed of the stories. The gate plays the same ones each time, so that a broken story is
 * the work of a change. `npm run soak` draws new ones.
 */
const firstSeed = 135_465_752;

/**
 * 1,000 virtual hours of random stories on two processors. They run in virtual time, so they take
 * what the system tests beside them leave.
 */
async function simulations(): Promise<Counts> {
  const stories = 20;
  const play = (first: number): Promise<Counts> => {
    const how = ['--seed', String(first), '--hours', '25', '--stories', String(stories)];
    return run('npm', ['run', '--silent', 'simulate:faults', '--', ...how], {
      priority: constants.priority.PRIORITY_LOW,
    });
  };
  const [one, other] = await Promise.all([play(firstSeed), play(firstSeed + stories)]);
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: 0,
    failures: [...one.failures, ...other.failures],
  };
}

async function systemTests(): Promise<Counts> {
  const lacking = await withoutNats();
  // Patterns come first. Otherwise the option that takes a list would take them for its own.
  const system = (...more: readonly string[]): Promise<Counts> =>
    nx('conformance,e2e', 1, {
      ...real,
      TEST_RESULTS: outcomes,
      JEST_ARGS: [...patterns, ...more, ...lacking].join(' '),
    });
  // They mostly wait: two files at a time leave processors to spare. A failed one runs again alone.
  return withSecondRun(
    'system tests',
    () => system('--maxWorkers=2'),
    () => system('--runInBand', '--onlyFailures'),
  );
}

// The projects' tests compare the Kubernetes twin with the real control plane, and the AWS adapter
// with moto. Karpenter's controller is a client of the cloud twin, NATS' command one of the bus.
// If these are missing, the tests say so.
if (process.env.REAL === '1')
  for (const part of ['control-plane', 'moto', 'karpenter', 'nats-command']) await obtained(part);
const results: Counts[] = [];
if (only !== 'system') results.push(await withSecondRun("projects' tests", unitTests, unitTests));
if (only !== 'unit') {
  const plays = only === undefined && process.env.REAL === '1';
  results.push(...(await Promise.all([systemTests(), ...(plays ? [simulations()] : [])])));
}

const sum = (key: 'passed' | 'failed' | 'skipped'): number =>
  results.reduce((total, result) => total + result[key], 0);
const tried = readFileSync(outcomes, 'utf8').split('\n').filter(Boolean);
process.stdout.write(`\n${closingTables(tried.map((line) => JSON.parse(line) as TestOutcome))}\n`);
rmSync(scratch, { recursive: true });
for (const line of leftOut) process.stdout.write(`${line}\n`);
// The failures stand last, where even a log that is cut shows them.
for (const line of new Set(results.flatMap(({ failures }) => failures)))
  process.stdout.write(`${line}\n`);
const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
process.stdout.write(`\n${sum('passed')} passed, ${sum('failed')} failed${skipped}\n`);
process.exitCode = sum('failed') > 0 ? 1 : 0;
