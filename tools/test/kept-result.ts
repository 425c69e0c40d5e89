// Keeps the result of `make test-real`, so that its last run can be read in the repository.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';

import type { StageResult } from './stage.js';

const file = 'tests/results/real.md';
const head = `# Runs on the real control plane

\`make test-real\` adds a row: the system tests and the conformance suites on a real control plane, with Karpenter's controller, moto
and boto3. The load is that of the last fifteen minutes at the end.

| commit | day | passed | failed | skipped | seconds | load |
| ------ | --- | -----: | -----: | ------: | ------: | ---: |
`;

/** Appends a row for this run. A tree with changes that are not committed is marked with \`+\`. */
export function keepRealResult(results: readonly StageResult[]): void {
  const sum = (key: 'passed' | 'failed' | 'skipped' | 'tookMs'): number =>
    results.reduce((total, result) => total + result[key], 0);
  const git = (...args: readonly string[]): string =>
    execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--', ':!tests/results') === '' ? '' : '+';
  const cells = [
    `${git('rev-parse', '--short', 'HEAD')}${changed}`,
    new Date().toISOString().slice(0, 10),
    sum('passed'),
    sum('failed'),
    sum('skipped'),
    Math.round(sum('tookMs') / 1_000),
    loadavg()[2]?.toFixed(1) ?? '',
  ];
  const before = existsSync(file) ? readFileSync(file, 'utf8') : head;
  writeFileSync(file, `${before}| ${cells.join(' | ')} |\n`);
}
