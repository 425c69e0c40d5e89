// Prints a line for each failure, and the line that tools/test.ts adds up over all projects. With TEST_RESULTS, appends each
// test's outcome to that file, and with TEST_TIMES the time of each file, a line of JSON each.
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

export default class SummaryReporter {
  onTestResult(_test, { testResults, testFilePath, perfStats }) {
    appendTime(relative(process.cwd(), testFilePath), perfStats.end - perfStats.start);
    const file = process.env.TEST_RESULTS ?? '';
    if (file === '') return;
    const lines = testResults.map(({ ancestorTitles, title, status, duration }) =>
      JSON.stringify({ suite: ancestorTitles.join(' '), title, status, durationMs: duration ?? 0 }),
    );
    if (lines.length > 0) appendFileSync(file, `${lines.join('\n')}\n`);
  }

  onRunComplete(_contexts, results) {
    for (const file of results.testResults)
      for (const line of failuresOf(file)) process.stdout.write(`${line}\n`);
    const skipped = results.numPendingTests > 0 ? `, ${results.numPendingTests} skipped` : '';
    process.stdout.write(
      `${results.numPassedTests} passed, ${results.numFailedTests + results.numRuntimeErrorTestSuites} failed${skipped}\n`,
    );
  }
}

function appendTime(file, tookMs) {
  const to = process.env.TEST_TIMES ?? '';
  if (to !== '') appendFileSync(to, `${JSON.stringify({ file, tookMs })}\n`);
}

/** A line for each failed test of one file, or for a file that did not run at all. */
function failuresOf({ testFilePath, testResults, testExecError }) {
  const path = relative(process.cwd(), testFilePath);
  const told = (text) =>
    stripVTControlCharacters(String(text)).replaceAll(/\s+/g, ' ').slice(0, 400);
  if (testExecError) return [`FAILED: ${path}: ${told(testExecError.message)}`];
  return testResults
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages }) =>
      told(`FAILED: ${path} › ${fullName}: ${failureMessages[0] ?? ''}`),
    );
}
