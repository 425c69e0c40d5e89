// Prints the line that tools/test.ts adds up over all projects. With TEST_RESULTS, appends each
// test's outcome to that file, a line of JSON each.
import { appendFileSync } from 'node:fs';

export default class SummaryReporter {
  onTestResult(_test, { testResults }) {
    const file = process.env.TEST_RESULTS ?? '';
    if (file === '') return;
    const lines = testResults.map(({ ancestorTitles, title, status, duration }) =>
      JSON.stringify({ suite: ancestorTitles.join(' '), title, status, durationMs: duration ?? 0 }),
    );
    if (lines.length > 0) appendFileSync(file, `${lines.join('\n')}\n`);
  }

  onRunComplete(_contexts, results) {
    const skipped = results.numPendingTests > 0 ? `, ${results.numPendingTests} skipped` : '';
    process.stdout.write(
      `${results.numPassedTests} passed, ${results.numFailedTests + results.numRuntimeErrorTestSuites} failed${skipped}\n`,
    );
  }
}
