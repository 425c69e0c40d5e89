import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

/**
 * The page about conditions has each condition and each reason that the launcher and the reaper
 * write, and no others.
 */
const root = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const page = read('docs/guides/conditions.md');

const services = readdirSync(join(root, 'libs/services')).map(
  (name) => `libs/services/${name}/src`,
);
const sources = [...services, 'libs/core/disruption/src/causes']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}/${file}`,
    ),
  )
  .filter((path) => /\.ts$/.test(path) && !/\.test\.|\/testing\//.test(path))
  .map(read)
  // A file that makes conditions, or names one.
  .filter((text) =>
    /NewCondition|RegistrationFailure|readonly condition: '|Conditions?\(|withCondition|[tT]ype = '|disruptionReason|launchReasons|missing\(/.test(
      text,
    ),
  );

/** Names in such files that are no conditions and no reasons of one. */
const others: ReadonlySet<string> = new Set([
  ...['True', 'False', 'Unknown', 'Warning', 'Normal'],
  // Kinds of objects, and a policy of pools.
  ...['InlineProvider', 'NodePool', 'WhenEmpty'],
  // Reasons of Events about nodes.
  ...['DisruptionBlocked', 'DisruptionLaunching', 'Unconsolidatable'],
  // Codes of AWS, from which reasons are made.
  ...['AuthFailure', 'InvalidIamInstanceProfileName', 'InvalidParameterValue'],
  ...['PendingVerification', 'VcpuLimitExceeded'],
]);

/** The names that a file gives to conditions and their reasons; those of Events are apart. */
function namesIn(text: string): readonly string[] {
  const left = text
    .replaceAll(/type: '(?:Warning|Normal)',\s*reason: [^,]+,/g, '')
    .replaceAll(/(?:kind|event|eventReason|awsCode|name|phase|budget): '[^']+'/g, '')
    .replaceAll(/import [^;]+;/g, '');
  const found = [...left.matchAll(/'([A-Z][A-Za-z]+)'/g)].map(([, name = '']) => name);
  return found.filter((name) => !others.has(name));
}

const written = new Set(sources.flatMap(namesIn));
const told = new Set([...page.matchAll(/`([A-Z]\w+)`/g)].map(([, name = '']) => name));

describe('the page about conditions', () => {
  test('has each condition and each reason that is written', () => {
    expect(written.size).toBeGreaterThan(50);
    for (const known of ['SubnetsReady', 'NodeNotFound', 'AwaitingVolumeDetachment', 'AMIDrift'])
      expect(written).toContain(known);
    expect([...written].filter((name) => !told.has(name)).toSorted()).toEqual([]);
  });

  test('has no other one', () => {
    // Causes, whose names are those of a pool's budgets.
    const causes = ['Empty', 'Underutilized'];
    expect([...told].filter((name) => !written.has(name)).toSorted()).toEqual(causes);
  });

  test('says something to do for each reason', () => {
    const rows = page.split('\n').filter((line) => /^\| [^|-]/.test(line) || /^\| +\|/.test(line));
    const reasons = rows.filter((row) => !row.startsWith('| condition |'));
    expect(reasons.length).toBeGreaterThan(35);
    for (const row of reasons) expect(row.split('|')[3]?.trim()).toMatch(/^.{20,}/);
  });

  test('is found from the runbook', () =>
    expect(read('docs/guides/runbook.md')).toContain('(conditions.md)'));
});
