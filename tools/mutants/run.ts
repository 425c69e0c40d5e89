// Plants each mistake of the table in a copy of the repository beside it, and runs the tests that
// must notice it. Keeps the result in tests/results/mutants.md. Ends with 1 if a mistake goes
// unnoticed. Usage: tsx tools/mutants/run.ts [TEXT...]   (TEXT selects by place or meaning)
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Mutant } from './mutant.js';
import { cell, mutants, planted, rowOf } from './table.js';

type Answer = { readonly mutant: Mutant; readonly noticedBy: string | undefined };

/** Some mistakes make a test wait for ever, or a loop turn for ever. */
const limits = { testMs: 60_000, runMs: 240_000 };
/** Their tests have a configuration of their own. */
const systemFolders = ['tests/built', 'tests/conformance', 'tests/e2e', 'tests/scenarios'];
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const root = join(import.meta.dirname, '..', '..');
/** Large, and not read by tests. */
const leftOut = ['node_modules', '.git', '.nx', 'dist'].map((name) => join(root, name));

/** A copy in which mistakes are planted: nobody commits one by accident. Packages are linked. */
function copied(): string {
  const copy = mkdtempSync(`${root}-mutants-`);
  cpSync(root, copy, { recursive: true, filter: (path) => !leftOut.includes(path) });
  execFileSync('cp', ['-al', join(root, 'node_modules'), copy]);
  return copy;
}

/** The first test that fails with the mistake in place; undefined if all pass. */
async function noticedBy(copy: string, mutant: Mutant): Promise<string | undefined> {
  const file = join(copy, mutant.place);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, planted(text, mutant));
  try {
    return await firstFailure(copy, mutant);
  } finally {
    writeFileSync(file, text);
  }
}

/** Runs tests until one fails. Their processes are a group, so that all of them can be ended. */
async function exitCodeOf(cwd: string, args: readonly string[]): Promise<number | null> {
  const run = spawn('npx', ['vitest', 'run', ...args], { cwd, detached: true, stdio: 'ignore' });
  const timer = setTimeout(() => process.kill(-(run.pid ?? 0), 'SIGKILL'), limits.runMs);
  const [code] = (await once(run, 'exit')) as [number | null];
  clearTimeout(timer);
  return code;
}

async function firstFailure(copy: string, { tests, named }: Mutant): Promise<string | undefined> {
  const outputFile = join(copy, 'mutant.json');
  const isOfSystem = systemFolders.some((folder) => tests.startsWith(folder));
  const config = ['--config', isOfSystem ? 'tests/vitest.config.mjs' : 'vitest.config.mjs'];
  const ends = ['--bail', '1', '--testTimeout', String(limits.testMs)];
  const report = ['--reporter', 'json', '--outputFile', outputFile];
  const chosen = named === undefined ? [] : ['--testNamePattern', named];
  const code = await exitCodeOf(copy, [...config, ...ends, ...report, ...chosen, tests]);
  if (code === 0) return undefined;
  return code === null ? 'a test that hangs' : failureIn(readFileSync(outputFile, 'utf8'));
}

function failureIn(json: string): string {
  const { testResults } = JSON.parse(json) as {
    readonly testResults: readonly {
      readonly name: string;
      readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
    }[];
  };
  for (const { name, assertionResults } of testResults)
    for (const { status, fullName } of assertionResults)
      if (status === 'failed') return `${name.split('/').at(-1) ?? name}: ${fullName}`;
  return 'a file that does not load';
}

function page(answers: readonly Answer[]): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const noticed = answers.filter((answer) => answer.noticedBy !== undefined).length;
  const rows = answers.map(
    ({ mutant, noticedBy: test = '**nobody**' }) => `${rowOf(mutant)} ${cell(test)} |`,
  );
  return `# Planted mistakes

\`npm run mutants\` at ${commit}, ${new Date().toISOString().slice(0, 10)}: ${String(noticed)} of ${String(answers.length)} mistakes are noticed by a test.

| place | line and mistake | then | first test that fails |
|---|---|---|---|
${rows.join('\n')}
`;
}

async function main(): Promise<void> {
  const wanted = process.argv.slice(2);
  const chosen = mutants.filter(({ place, means }) =>
    wanted.length === 0 ? true : wanted.some((text) => `${place} ${means}`.includes(text)),
  );
  say(`${String(chosen.length)} mistakes, about ten seconds each`);
  const copy = copied();
  const answers: Answer[] = [];
  for (const mutant of chosen) {
    const test = await noticedBy(copy, mutant);
    const word = test === undefined ? 'UNNOTICED' : 'noticed  ';
    answers.push({ mutant, noticedBy: test });
    say(`${String(answers.length).padStart(3)} ${word} ${mutant.means}: ${test ?? mutant.place}`);
  }
  rmSync(copy, { recursive: true });
  if (wanted.length === 0) writeFileSync(join(root, 'tests/results/mutants.md'), page(answers));
  process.exitCode = answers.some((answer) => answer.noticedBy === undefined) ? 1 : 0;
}

await main();
