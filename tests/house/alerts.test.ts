import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { labelsIn, metricLabels, metricsIn } from '@dovetail/test-support/metrics-page';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const runbook = read('docs/guides/runbook.md');

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
};
type Rules = { readonly groups: readonly { readonly rules: readonly Rule[] }[] };

const rules = (parse(read('deploy/prometheus/dovetail.rules.yaml')) as Rules).groups.flatMap(
  (group) => group.rules,
);

test.each(rules.map((rule) => [rule.alert, rule] as const))(
  '%s is a rule that can fire',
  (_name, rule) => {
    const names = metricsIn(rule.expr);
    expect(names).not.toEqual([]);
    for (const name of names) expect([...metricLabels.keys()]).toContain(name);
    for (const label of labelsIn(rule.expr))
      expect(names.flatMap((name) => metricLabels.get(name) ?? [])).toContain(label);
    for (const [open, close] of ['()', '[]', '{}'].map((pair) => [...pair]))
      expect(rule.expr.split(open ?? '').length).toBe(rule.expr.split(close ?? '').length);
    expect(rule.for ?? '5m').toMatch(/^[0-9]+[smh]$/);
    expect(['critical', 'warning']).toContain(rule.labels.severity);
    expect(rule.annotations.summary).toMatch(/^[A-Z].*\.$/);
  },
);

test('each rule has a section in the runbook, and each section a rule', () => {
  const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name);
  expect(sections).toEqual(rules.map(({ alert }) => alert));
  for (const { alert, annotations } of rules)
    expect(annotations.runbook_url).toBe(`docs/guides/runbook.md#${alert.toLowerCase()}`);
});

test('outcomes that a rule names are those that the code writes', () => {
  const named = rules.flatMap(({ expr }) => [...expr.matchAll(/outcome="([^"]+)"/g)]);
  const sources = execFileSync(
    'git',
    ['grep', '-h', 'outcome:', '--', 'libs/services/launcher/src'],
    { cwd: root, encoding: 'utf8' },
  );
  for (const [, value] of named) expect(sources).toContain(`'${value ?? ''}'`);
});

/** The loops of services, each with the code of a log line about its failures. */
function failuresOfLoops(): readonly string[] {
  const metric = 'dovetail_loop_failures_total';
  const found = execFileSync(
    'git',
    ['grep', '-lE', `'${metric}'|: LoopTurn = `, '--', 'libs/services/*.ts', ':!*.test.ts'],
    { cwd: root, encoding: 'utf8' },
  );
  // It counts what the others name.
  const files = found.split('\n').filter((path) => path !== '' && !path.endsWith('/try-turn.ts'));
  return files.flatMap((path) => {
    const text = read(path);
    const [, own = ''] = /^const loop = '([\w-]+)'/m.exec(text) ?? [];
    const turns = text.matchAll(/: LoopTurn = \{\s*loop: '([\w-]+)',[^}]*?failure: '([\w-]+)'/g);
    const counts = text.matchAll(
      new RegExp(`'${metric}', \\{ loop(?:: '([\\w-]+)')? \\}[^]*?\\.warn\\(\\s*'([\\w-]+)'`, 'g'),
    );
    const named = [...turns, ...counts].map(([, loop = own, code = '']) => `${loop}: ${code}`);
    return named.length > 0 ? named : [`${path} names no loop that this test can read`];
  });
}

test('the runbook has a row for each loop and each log line of its failures, and something to do', () => {
  const [, section = ''] = runbook.split('\n## DovetailReaperFails\n');
  const rows = [
    ...(section.split('\n## ')[0] ?? '').matchAll(/^\| `(.+)` \| `(.+)` \| (.+) \| (.+) \|$/gm),
  ];
  expect(rows.map(([, loop = '', code = '']) => `${loop}: ${code}`)).toEqual(
    failuresOfLoops().toSorted(),
  );
  for (const [, , , meaning = '', remedy = ''] of rows)
    expect(Math.min(meaning.length, remedy.length)).toBeGreaterThan(20);
});

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
if (!hasPromtool)
  process.stdout.write(
    'LEFT OUT: unit tests of alerts: no promtool (Debian: package prometheus)\n',
  );

test.skipIf(!hasPromtool)("promtool's unit tests of the alerts pass", () => {
  const { status, stdout, stderr } = spawnSync(
    'promtool',
    ['test', 'rules', 'dovetail.rules.test.yaml'],
    { cwd: join(root, 'deploy', 'prometheus'), encoding: 'utf8' },
  );
  expect(`${stdout}${stderr}`).toContain('SUCCESS');
  expect(status).toBe(0);
});

test('each alert fires in one of its unit tests, and is silent in another', () => {
  const { tests } = parse(read('deploy/prometheus/dovetail.rules.test.yaml')) as {
    readonly tests: readonly { readonly name: string }[];
  };
  expect(tests.map(({ name }) => name).toSorted()).toEqual(
    rules.flatMap(({ alert }) => [`${alert} fires`, `${alert} is silent`]).toSorted(),
  );
});
