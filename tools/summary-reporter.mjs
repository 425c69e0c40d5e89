// Prints a line for each failure, and the line that tools/test.ts adds up over all stages. With
// TEST_RESULTS, appends each test's outcome to that file, and with TEST_TIMES the time of each file,
// a line of JSON each.
import { appendFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

const tell = (line) => process.stdout.write(`${line}\n`);
const testsOf = (module) => [...module.children.allTests()];

export default class SummaryReporter {
  onTestModuleEnd(module) {
    append('TEST_TIMES', [{ file: module.relativeModuleId, tookMs: module.diagnostic().duration }]);
    append('TEST_RESULTS', testsOf(module).map(outcomeOf));
  }

  onTestRunEnd(modules, unhandledErrors) {
    const tests = modules.flatMap(testsOf);
    const count = (state) => tests.filter((test) => stateOf(test) === state).length;
    const lines = [
      ...modules.flatMap(failuresOf),
      ...unhandledErrors.map((error) => told('outside of a test', error)),
    ];
    lines.forEach(tell);
    const broken = lines.length - count('failed');
    const skipped = count('skipped') > 0 ? `, ${count('skipped')} skipped` : '';
    tell(`${count('passed')} passed, ${count('failed') + broken} failed${skipped}`);
  }
}

/** A test that a failed hook or file kept from its start was not left out: its failure counts. */
function stateOf(test) {
  const { state } = test.result();
  return state === 'skipped' && isInFailed(test.parent) ? 'not started' : state;
}

const isInFailed = (group) =>
  group.errors().length > 0 || (group.type === 'suite' && isInFailed(group.parent));

function append(variable, rows) {
  const file = process.env[variable] ?? '';
  if (file === '' || rows.length === 0) return;
  appendFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

function outcomeOf(test) {
  const suites = [];
  for (let at = test.parent; at.type === 'suite'; at = at.parent) suites.unshift(at.name);
  return {
    suite: suites.join(' '),
    title: test.name,
    status: test.result().state,
    durationMs: test.diagnostic()?.duration ?? 0,
  };
}

const longest = 400;
const oneLine = (text) => stripVTControlCharacters(text).replaceAll(/\s+/g, ' ').slice(0, longest);

/** The lines that differ between what was expected (-) and received (+); empty without a diff. */
const differences = (error) =>
  stripVTControlCharacters(error?.diff ?? '')
    .split('\n')
    .filter((line) => /^[-+] {2}/.test(line))
    .join(' ');

function told(where, error) {
  const what = oneLine(`FAILED: ${where}: ${error?.stack ?? error?.message ?? String(error)}`);
  const diff = oneLine(differences(error));
  return diff === '' ? what : `${what} DIFF: ${diff}`;
}

/** States of a file that a run left behind, such as one whose process ended. */
const unfinished = new Set(['queued', 'pending']);

/**
 * A line for each failed test of one file, and for what failed around them: the file itself, a hook
 * of a group, after which its tests count as skipped, or the process.
 */
const failuresOf = (module) => [
  ...module.errors().map((error) => told(module.relativeModuleId, error)),
  ...[...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map((error) => told(`${module.relativeModuleId} › ${suite.fullName}`, error)),
  ),
  ...(unfinished.has(module.state())
    ? [told(module.relativeModuleId, 'it did not run to its end')]
    : []),
  ...testsOf(module)
    .filter((test) => test.result().state === 'failed')
    .map((test) =>
      told(`${module.relativeModuleId} › ${test.fullName}`, test.result().errors?.[0]),
    ),
];
