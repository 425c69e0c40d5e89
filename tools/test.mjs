// Runs every project's tests, then the tests across projects, and closes with one line that adds them all up.
// Usage: node tools/test.mjs [--real] [--only unit|system] [more jest arguments for the system tests]
import { spawn } from 'node:child_process';

const args = process.argv.slice(2);
const real = args.includes('--real') || process.env.REAL === '1';
const only = args.includes('--only') ? args[args.indexOf('--only') + 1] : undefined;
const totals = { passed: 0, failed: 0, skipped: 0 };
const leftOut = [];

/** Runs a command, shows its output as it comes, and adds up the summary lines in it. */
function run(command, commandArgs, env = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, commandArgs, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let tail = '';
    let counted = 0;
    const take = (target) => (chunk) => {
      target.write(chunk);
      const lines = (tail + chunk).split('\n');
      tail = lines.pop() ?? '';
      for (const line of lines) {
        const match = /^(?:.*?\s)?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line.trim());
        if (match === null) {
          if (line.includes('LEFT OUT:')) leftOut.push(line.slice(line.indexOf('LEFT OUT:')).trim());
          continue;
        }
        counted += 1;
        totals.passed += Number(match[1]);
        totals.failed += Number(match[2]);
        totals.skipped += Number(match[3] ?? 0);
      }
    };
    child.stdout.setEncoding('utf8').on('data', take(process.stdout));
    child.stderr.setEncoding('utf8').on('data', take(process.stderr));
    child.on('close', (code) => resolve({ code: code ?? 1, counted }));
  });
}

const failures = [];
if (only !== 'system') {
  const unit = await run('npx', ['nx', 'run-many', '-t', 'test', '--exclude', '@dovetail/tests', '--output-style=static', '--parallel=2']);
  if (unit.code !== 0) failures.push('unit tests');
}
if (only !== 'unit') {
  const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js', '--config', 'tests/jest.config.mjs', '--runInBand'];
  const system = await run(process.execPath, jest, { DOVETAIL_REAL: real ? '1' : '' });
  if (system.code !== 0) failures.push('system tests');
}
for (const line of [...new Set(leftOut)]) process.stdout.write(`${line}\n`);
if (failures.length > 0 && totals.failed === 0) totals.failed = failures.length;
process.stdout.write(`\n${totals.passed} passed, ${totals.failed} failed${totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''}\n`);
process.exitCode = totals.failed > 0 ? 1 : 0;
