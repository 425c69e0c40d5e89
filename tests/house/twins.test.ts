import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { servedActions } from '@dovetail/sim-cloud';
import { createKubeStore, createManualClock } from '@dovetail/sim-kube';
import { expect, test } from 'vitest';

/** The page that says what the twins serve. */
const page = readFileSync(join(import.meta.dirname, '..', '..', 'libs/sim/README.md'), 'utf8');

/** The first column and the words in code font of the others, of each row of a section. */
const rowsOf = (heading: string): readonly string[] =>
  (page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '')
    .split('\n')
    .filter((line) => /^\| (?:`|core )/.test(line))
    .flatMap((line) => {
      const [, group = '', names = ''] = line.split('|');
      return [...names.matchAll(/`(\w+)`/g)].map(
        ([, name]) => `${group.replaceAll('`', '').trim()}:${name}`,
      );
    })
    .toSorted();

test('the page of the twins lists every kind that the Kubernetes twin serves, and no other', () => {
  const { registry } = createKubeStore({ clock: createManualClock(0), seed: 1 });
  const served = registry.all().map(({ group, kind }) => `${group || 'core'}:${kind}`);
  // A kind in two versions is one row.
  expect(rowsOf('Kubernetes')).toEqual([...new Set(served)].toSorted());
});

test('the page of the twins lists every action that the cloud twin serves, and no other', () =>
  expect(rowsOf('Cloud')).toEqual(servedActions));
