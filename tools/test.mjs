// Runs every project's tests, then the tests across projects, and closes with tables of what was tried and one line that adds all up.
// Usage: node tools/test.mjs [--only unit|system [pattern of test files]...]
// REAL=1 gets the real control plane (it is built once) and runs on it too; REAL=0 leaves it out; else it runs where it is cached.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closingTables } from './closing-table.mjs';

const args = process.argv.slice(2);
const [only, ...patterns] = args.includes('--only') ? args.slice(args.indexOf('--only') + 1) : [];
const leftOut = new Set();

/** Runs a command, shows its output as it comes, and adds up the summary lines in it. */
function run(command, commandArgs, env = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, commandArgs, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const take = (target) => {
      let tail = '';
      return (chunk) => {
        target.write(chunk);
        const lines = (tail + chunk).split('\n');
        tail = lines.pop() ?? '';
        for (const line of lines) count(line, counts);
      };
    };
    child.stdout.setEncoding('utf8').on('data', take(process.stdout));
    child.stderr.setEncoding('utf8').on('data', take(process.stderr));
    child.on('close', (code) => resolve({ ...counts, failed: code === 0 ? counts.failed : Math.max(1, counts.failed) }));
  });
}

function count(line, counts) {
  if (line.includes('LEFT OUT:')) leftOut.add(line.slice(line.indexOf('LEFT OUT:')).trim());
  const match = /^(?:.*?\s)?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line.trim());
  if (match === null) return;
  counts.passed += Number(match[1]);
  counts.failed += Number(match[2]);
  counts.skipped += Number(match[3] ?? 0);
}

/**
 * These tests run whole systems in real time, so a machine that is held up can fail one. What fails runs once more, and
 * the output says so: a test that needs its second run is a defect to look into, but not a wrong product.
 */
async function withSecondRun(what, first, again) {
  const result = await first();
  if (result.failed === 0) return result;
  process.stdout.write(`\nSECOND RUN: ${result.failed} of the ${what} failed; what failed runs once more\n\n`);
  const second = await again();
  if (second.failed === 0) process.stdout.write(`\nSECOND RUN: ${result.failed} of the ${what} passed only now\n`);
  return { ...result, passed: result.passed + (second.failed === 0 ? result.failed : 0), failed: second.failed };
}

const unit = () => run('npx', ['nx', 'run-many', '-t', 'test', '--exclude', '@dovetail/tests', '--output-style=static', '--parallel=2']);
const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js', '--config', 'tests/jest.config.mjs', '--forceExit'];
const real = { 1: { DOVETAIL_REAL: '1' }, 0: { DOVETAIL_REAL: '' } }[process.env.REAL] ?? {};
const scratch = mkdtempSync(join(tmpdir(), 'dovetail-results-'));
const outcomes = join(scratch, 'outcomes.ndjson');
writeFileSync(outcomes, '');

/** These look at services as processes of their own, or at NATS itself: on a machine without nats-server there is nothing to look at. */
const natsOnly = ['tests/e2e/(bad-input|faults|lab|subscribers|placement-left)', 'tests/conformance/bus/(nats|plain-client)', 'tests/conformance/kube'];

/** Finds, downloads or builds a part once, in front of the tests that would otherwise do without it. */
async function obtained(part) {
  const child = spawn('npx', ['tsx', '--conditions=@dovetail/source', 'libs/testbed/bin/obtain.ts', part], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  const code = await new Promise((resolve) => child.on('close', resolve));
  return { had: code === 0, text };
}

/** Says in one line what is left out where nats-server cannot be had. */
async function withoutNats() {
  const { had, text } = await obtained('nats');
  if (had) return [];
  leftOut.add(`LEFT OUT: faults, bad input, subscribers, the lab as it is started and pods left to the scheduler, which look at services as processes or at NATS; other tests ran with all services in one process: no nats-server (${text.split('\n', 1)[0].replace(/^nats-server\s+missing\s+/, '')})`);
  return natsOnly.map((pattern) => `--testPathIgnorePatterns=${pattern}`);
}

const results = [];
// The projects' tests hold the Kubernetes twin against the one, and the AWS adapter against the other. Where they cannot be had, tests say so themselves.
if (process.env.REAL === '1') for (const part of ['control-plane', 'moto']) await obtained(part);
if (only !== 'system') results.push(await withSecondRun("projects' tests", unit, unit));
if (only !== 'unit') {
  const lacking = await withoutNats();
  // Patterns come first: the option that takes a list would take them for its own.
  const system = (...more) => run(process.execPath, [...jest, ...patterns, ...more, ...lacking], { ...real, TEST_RESULTS: outcomes });
  // They mostly wait: two at a time leave processors to spare. What fails is tried again alone.
  results.push(await withSecondRun('system tests', () => system('--maxWorkers=2'), () => system('--runInBand', '--onlyFailures')));
}
const sum = (key) => results.reduce((total, result) => total + result[key], 0);
process.stdout.write(`\n${closingTables(readFileSync(outcomes, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line)))}\n`);
rmSync(scratch, { recursive: true });
for (const line of leftOut) process.stdout.write(`${line}\n`);
process.stdout.write(`\n${sum('passed')} passed, ${sum('failed')} failed${sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : ''}\n`);
process.exitCode = sum('failed') > 0 ? 1 : 0;
