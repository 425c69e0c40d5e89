import type { CommandPhase } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import { expect, test } from 'vitest';

import { cluster, started } from '../testing/current-cluster.js';
import {
  readCommandRecord,
  writeCommandEnd,
  writeCommandPhase,
  writeCommandRecord,
} from './command-records.js';

const nodesOut = ['1', '2'].map((one) => ({
  nodeName: `n${one}`,
  nodeUid: `u${one}`,
  claimName: `c${one}`,
  claimUid: `v${one}`,
}));

const told = {
  summary: 'n1, n2 go; no pod moves',
  nodesIn: [],
  moves: [],
  pricePerHourBefore: '0.10',
  pricePerHourAfter: '0.00',
  savingPerHour: '0.10',
  disruptionCost: '2.00',
};
const parts = { name: 'one', nodesOut, told };

test('the name of a command is free again once that command is over', async () => {
  await started();
  const { kube, log } = cluster;
  const first = present(await writeCommandRecord({ kube, log }, parts), 'it is new');
  expect(await writeCommandRecord({ kube, log }, parts)).toBeUndefined();
  await writeCommandEnd(kube, first, Date.UTC(2026, 0, 1));
  const second = present(await writeCommandRecord({ kube, log }, parts), 'the first is over');
  const read = await readCommandRecord({ kube, log }, parts.name);
  expect([read?.uid, read?.endedMs]).toEqual([second.uid, undefined]);
});

test.each<[CommandPhase, CommandPhase, boolean]>([
  ['Tainted', 'Ending', true],
  ['Tainted', 'TakenBack', true],
  ['Ending', 'TakenBack', false],
  ['TakenBack', 'Ending', false],
  ['Ending', 'Ending', true],
])('of a command that is %s, %s stands when it is written: %s', async (held, next, stands) => {
  await started();
  const { kube, log } = cluster;
  const record = present(await writeCommandRecord({ kube, log }, parts), 'it is new');
  await writeCommandPhase(kube, record, held);
  expect(await writeCommandPhase(kube, record, next)).toBe(stands);
  const read = await readCommandRecord({ kube, log }, parts.name);
  expect(read?.phase).toBe(stands ? next : held);
});
