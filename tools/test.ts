// Runs the tests in one of three ways. Closes with the minutes of each stage, the slowest files,
// tables of the tests and one line that adds all up.
// Usage: tsx tools/test.ts [twins|real|smoke] [PATTERN...]   (PATTERN selects test files)
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { closingTables } from './closing-table.js';
import { keepRealResult } from './test/kept-result.js';
import { type FileTime, type StageResult } from './test/stage.js';
import { stagesOf } from './test/stages.js';

const [way = 'twins', ...patterns] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), 'dovetail-results-'));
const outcomes = join(scratch, 'outcomes.ndjson');
const times = join(scratch, 'times.ndjson');
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const rowsOf = <T>(file: string): readonly T[] => {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as T);
  } catch {
    return [];
  }
};

const minutes = (ms: number): string => `${(ms / 60_000).toFixed(1).padStart(5)} min`;

function tellTimes(results: readonly StageResult[]): void {
  say('\nminutes of each stage:');
  for (const { name, tookMs } of results) say(`  ${minutes(tookMs)}  ${name}`);
  const slowest = rowsOf<FileTime>(times).toSorted((one, other) => other.tookMs - one.tookMs);
  say('\nslowest files:');
  for (const { file, tookMs } of slowest.slice(0, 15))
    say(`  ${(tookMs / 1_000).toFixed(1).padStart(6)} s  ${file}`);
}

async function main(): Promise<void> {
  const stages = stagesOf(way, patterns, { TEST_RESULTS: outcomes, TEST_TIMES: times });
  if (stages === undefined) {
    say(`there is no way "${way}" to run the tests: give twins, real or smoke`);
    process.exitCode = 64;
    return;
  }
  const results: StageResult[] = [];
  for (const row of stages) results.push(...(await Promise.all(row.map((stage) => stage()))));
  const sum = (key: 'passed' | 'failed' | 'skipped'): number =>
    results.reduce((total, result) => total + result[key], 0);

  say(`\n${closingTables(rowsOf(outcomes))}`);
  tellTimes(results);
  rmSync(scratch, { recursive: true });
  if (way === 'real') keepRealResult(results);
  say('');
  for (const line of new Set(results.flatMap(({ leftOut }) => leftOut))) say(line);
  // The failures stand last, where even a log that is cut shows them.
  for (const line of new Set(results.flatMap(({ failures }) => failures))) say(line);
  for (const { again } of results)
    if (again.length > 0) say(`SECOND RUN: passed only at the second run: ${again.join(', ')}`);
  const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
  say(`\n${sum('passed')} passed, ${sum('failed')} failed${skipped}`);
  process.exitCode = sum('failed') > 0 ? 1 : 0;
}

await main();
