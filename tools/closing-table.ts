// The tables at the end of a run of the system tests: the tests on each world, the faults, the
// placement trials. Everything comes from the tests' names, so nothing here changes when tests come
// and go.

/** The outcome of one test, as the summary reporter writes it. */
export type TestOutcome = {
  readonly suite: string;
  readonly title: string;
  readonly status: string;
};
type Counted = TestOutcome & { readonly again: boolean };

const worldNames = ['twin', 'real'];
const onWorld = /^(.*?),? on the (twin|real) world\b/;

/**
 * One text from the outcomes in their order. Of a test that ran twice, the later run counts, and
 * the table marks it.
 */
export function closingTables(results: readonly TestOutcome[]): string {
  const ran = results.filter(({ status }) => status === 'passed' || status === 'failed');
  const nameOf = ({ suite, title }: TestOutcome): string => `${suite}\n${title}`;
  const failures = new Set(ran.filter(({ status }) => status === 'failed').map(nameOf));
  const last = [...new Map(ran.map((result) => [nameOf(result), result])).values()].map(
    (result) => ({ ...result, again: result.status === 'passed' && failures.has(nameOf(result)) }),
  );
  return [worldTable(last), faultTable(last), trialTable(last)]
    .filter((text) => text !== '')
    .join('\n');
}

const passedOf = <T extends TestOutcome>(results: readonly T[]): readonly T[] =>
  results.filter(({ status }) => status === 'passed');

/** The number of tests that passed only in their second run. */
function atSecondRun(results: readonly Counted[], times = 1): string {
  const again = times * results.filter((result) => result.again).length;
  return again === 0 ? '' : ` (${again} only at the second run)`;
}

/** The number of these that passed, as `3 of 4`. */
const tally = (results: readonly Counted[]): string =>
  results.length === 0
    ? '-'
    : `${passedOf(results).length} of ${results.length}${atSecondRun(results)}`;

function worldTable(results: readonly Counted[]): string {
  const placed = results.flatMap((result) => {
    const match = onWorld.exec(result.suite) ?? onWorld.exec(result.title);
    return match === null ? [] : [{ ...result, what: match[1] ?? '', world: match[2] ?? '' }];
  });
  const rows = [...new Set(placed.map(({ what }) => what))].map((what) => [
    what,
    ...worldNames.map((world) =>
      tally(placed.filter((each) => each.what === what && each.world === world)),
    ),
  ]);
  return table(['passed, by world', 'twins', 'real control plane'], rows);
}

function faultTable(results: readonly Counted[]): string {
  const struck = results.filter(({ suite }) => suite.startsWith('faults '));
  const faultOf = ({ title }: TestOutcome): string => title.split(/[,:]/, 1)[0] ?? title;
  const rows = [...new Set(struck.map(faultOf))].map((fault) => {
    const tried = struck.filter((each) => faultOf(each) === fault);
    // Each cycle strikes once while scaling up and once while scaling down.
    return [
      fault,
      String(2 * tried.length),
      `${2 * passedOf(tried).length}${atSecondRun(tried, 2)}`,
    ];
  });
  return table(['fault', 'moments tried', 'survived'], rows);
}

function trialTable(results: readonly Counted[]): string {
  const trials = results.filter(
    ({ suite, title }) => suite.startsWith('tight plans ') && title.startsWith('trial '),
  );
  const rows = [...new Set(trials.map(({ suite }) => suite))].map((suite) => {
    const own = trials.filter((each) => each.suite === suite);
    return [
      suite,
      String(own.length),
      `${tally(own)}: ${own[0]?.title.replace(/^trial \d+: /, '')}`,
    ];
  });
  return table(['placement', 'trials', 'outcome'], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]): string =>
    `  ${cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()}\n`;
  return `${line(head)}${line(widths.map((width) => '-'.repeat(width)))}${rows.map(line).join('')}`;
}
