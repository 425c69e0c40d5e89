import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { referencePages } from '@dovetail/tools/reference';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..');

test.each([...referencePages()])('%s is as npm run reference writes it', (path, text) =>
  expect(readFileSync(join(root, path), 'utf8')).toBe(text),
);

test.each([
  ['reason-codes', 'no-pools', 'round-voided', 'fleet-choice', 'underutilized'],
  ['custom-resources', 'spec.template.spec.expireAfter', 'spec.subnetSelectorTerms[].tags'],
  ['metrics', 'dovetail_hung_loops', 'karpenter_nodeclaims_created_total'],
])('the page %s has what it is looked up for', (page, ...names) => {
  const text = readFileSync(join(root, 'docs', 'reference', `${page}.md`), 'utf8');
  for (const name of names) expect(text).toContain(`| \`${name}\` |`);
});

test('the README of the chart has a row for each value of a service, and for each block', () => {
  const chart = join(root, 'deploy/helm/dovetail');
  const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as {
    readonly services: Readonly<Record<string, object>>;
  };
  const text = readFileSync(join(chart, 'README.md'), 'utf8');
  for (const name of Object.keys(values)) expect(text).toMatch(new RegExp(`^\\| .${name}\\b`, 'm'));
  for (const [service, block] of Object.entries(values.services))
    for (const name of Object.keys(block))
      expect(text).toMatch(new RegExp(`^\\| .services\\.${service}\\.${name}\\b`, 'm'));
});
