import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { decisionKinds } from '@dovetail/contracts';
import { causeEvents } from '@dovetail/runtime';
import { describe, expect, test } from 'vitest';

/** The pages that repeat facts of the code, and the links between pages. */
const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const filesOf = (...patterns: readonly string[]): readonly string[] =>
  execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns],
    { cwd: root, encoding: 'utf8' },
  )
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(root, path)));
const sources = filesOf('libs/services/*.ts', 'libs/adapters/*.ts', 'libs/runtime/*.ts').filter(
  (path) => !path.includes('.test.') && !path.includes('/testing/'),
);
const sorted = (names: readonly string[]): readonly string[] => [...new Set(names)].toSorted();
const namesIn = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map(([, name]) => name ?? '');
const found = (pattern: RegExp): readonly string[] =>
  sorted(sources.flatMap((path) => namesIn(read(path), pattern)));
const page = read('docs/reference/events-and-metrics.md');
const rowsOf = (text: string): readonly string[] =>
  namesIn(text, /^\| `((?:karpenter|dovetail)_\w+)`/gm).toSorted();
/** The rows of the table under this heading, as cells. */
const tableUnder = (heading: string): readonly (readonly string[])[] =>
  namesIn(page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '', /^\| (.+) \|$/gm)
    .slice(1)
    .map((row) => row.split(' | '));
const quoted = (text: string): readonly string[] => namesIn(text, /`([^`]+)`/g);

/** The possible values of an Event's reason that is computed. */
const discovery = 'libs/services/launcher/src/discovery';
const computedReasons: Readonly<Record<string, () => readonly string[]>> = {
  'condition.type': () =>
    namesIn(
      /const recorded\b[^=]*= new Set\(\[([^\]]*)\]\)/.exec(
        read('libs/services/launcher/src/lifecycle/transitions.ts'),
      )?.[1] ?? '',
      /'(\w+)'/g,
    ),
  launchReason: () => {
    const errors = read('libs/services/launcher/src/launch/errors.ts');
    return [
      ...namesIn(errors, /(?:return|\?\?) '([A-Z]\w+)'/g),
      ...namesIn(
        read('libs/services/launcher/src/launch/launch.ts'),
        /#reportSetback\(claims, \{ reason: '(\w+)'/g,
      ),
      ...namesIn(errors, /^ {2}\['[\w.]+', '(\w+)'\],$/gm),
    ];
  },
  eventReason: () =>
    namesIn(read('libs/services/launcher/src/lifecycle/liveness.ts'), /eventReason: '(\w+)'/g),
  'policy.event': () =>
    namesIn(read('libs/core/disruption/src/causes/interruption.ts'), /event: '(\w+)'/g),
  // A pool's problem is a false condition of its class or of its own.
  'ready.reason': () => [
    ...['pool-conditions.ts', 'resolve-class.ts']
      .map((name) => `${discovery}/${name}`)
      .flatMap((path) =>
        namesIn(
          read(path),
          /(?:notReady\(\s*'False',\s*|invalid\(\s*|missing\(\s*'\w+',\s*|problem\?\.reason \?\? |reason: denied \? )'(\w+)'/g,
        ),
      ),
    ...namesIn(read('libs/core/ec2-model/src/ami-queries.ts'), /ok: false,\s*reason: '(\w+)'/g),
  ],
};
/**
 * Every call that records an Event, up to its reason. A call without a literal reason is returned
 * whole.
 */
const eventReasons = found(/\bevents\.(?:tell|write|record)\(((?:\{[^;]*?\breason: )?[^,}]+)/g).map(
  (call) =>
    call
      .split(/\breason: /)
      .at(-1)
      ?.trim() ?? '',
);
const eventNames = sorted([
  ...Object.values(causeEvents),
  ...eventReasons.flatMap((reason) => computedReasons[reason]?.() ?? literalsOf(reason)),
]);
function literalsOf(expression: string): readonly string[] {
  const names = namesIn(expression, /'([A-Z]\w+)'/g);
  return names.length > 0 ? names : [`the reason ${expression}, which this test does not know`];
}

describe('what the pages say is what the code says', () => {
  // A gauge that is computed at each scrape is a key with its samples.
  test('every metric has its row, and no row is left over', () =>
    expect(rowsOf(read('docs/reference/metrics.md'))).toEqual(
      found(/'?((?:karpenter|dovetail)_[a-z0-9_]+)(?:'|: (?!\{))/g),
    ));
  test('every call of a metric has the kind and the labels of its row', () => {
    const rows = new Map(
      [
        ...read('docs/reference/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \|[^|]*\|([^|]*)\|/gm),
      ].map(([, name = '', kind, labels = '']) => [name, { kind, labels: quoted(labels) }]),
    );
    const kinds: Readonly<Record<string, string>> = {
      count: 'counter',
      set: 'gauge',
      remove: 'gauge',
      observe: 'histogram',
    };
    for (const [, call = '', name = '', labels] of sources.flatMap((path) => [
      ...read(path).matchAll(
        /\b(\w+)\(\s*'((?:karpenter|dovetail)_[a-z0-9_]+)'(?:,\s*(?:[^,{}]*,\s*)?\{([^{}]*)\})?/g,
      ),
    ])) {
      // A summary is observed as a histogram is.
      const kind = rows.get(name)?.kind?.replace(/^summary$/, 'histogram');
      expect([name, kinds[call]]).toEqual([name, kind]);
      // Labels from a variable are not seen here. Those that are may lack what is spread.
      const given = namesIn(labels ?? '', /(?:^|,)\s*(\w+)(?=\s*(?:[:,]|$))/g);
      expect(rows.get(name)?.labels).toEqual(expect.arrayContaining([...given]));
    }
  });
  test('every Event has its row, and no row is left over', () =>
    expect(
      sorted(tableUnder('Kubernetes Events').flatMap(([reasons = '']) => quoted(reasons))),
    ).toEqual(eventNames));
  test.each(decisionKinds.map((kind) => [kind]))('the decision %s is explained', (kind) =>
    expect(page).toContain(`| \`${kind}\` |`),
  );
  test('the settings are those of --help', () => {
    execFileSync('npx', ['tsx', 'tools/settings-reference.ts', '--check'], {
      cwd: root,
      encoding: 'utf8',
    });
  });
});

describe('what is said when something is wrong is what the code says, and is tried', () => {
  const tried = filesOf('tests/e2e/bad-input*.test.ts').map(read).join('\n');
  const metrics = found(/'((?:karpenter|dovetail)_[a-z0-9_]+)'/g);
  const logged = found(/'([a-z]+(?:-[a-z]+)+)'/g);
  test.each(
    tableUnder('When something is wrong').map(
      ([cause = '', line = '', metric = '', event = '']) => ({
        cause,
        lines: quoted(line),
        metrics: quoted(metric),
        events: quoted(event).filter((name) => /^[A-Z]/.test(name)),
      }),
    ),
  )('$cause', (row) => {
    // Kinds of decisions are logged under names made of them.
    expect([...logged, ...decisionKinds.map((kind) => `decision-${kind}`)]).toEqual(
      expect.arrayContaining([...row.lines]),
    );
    expect(metrics).toEqual(expect.arrayContaining([...row.metrics]));
    expect(eventNames).toEqual(expect.arrayContaining([...row.events]));
    expect(row.lines.length * row.metrics.length).toBe(1);
    for (const name of [...row.lines, ...row.metrics, ...row.events])
      expect(tried).toContain(`'${name}'`);
  });
});

describe('links in the pages lead somewhere', () => {
  const pages = filesOf('*.md');
  const links = pages
    .flatMap((path) =>
      [...read(path).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(
        ([, target]) => [path, target ?? ''] as const,
      ),
    )
    .filter(([, target]) => !/^[a-z]+:/.test(target));
  test.each(links)('%s → %s', (path, target) =>
    expect(existsSync(join(root, dirname(path), target))).toBe(true),
  );
});
