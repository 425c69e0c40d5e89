import type { CommandPhase } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import { expect, test } from 'vitest';

import { cluster, started } from '../testing/current-cluster.js';
import { readCommandRecords, writeCommandPhase, writeCommandRecord } from './command-records.js';

const nodesOut = ['1', '2'].map((one) => ({
  nodeName: `n${one}`,
  nodeUid: `u${one}`,
  claimName: `c${one}`,
  claimUid: `v${one}`,
}));

test.each<[CommandPhase, CommandPhase, boolean]>([
  ['Tainted', 'Ending', true],
  ['Tainted', 'TakenBack', true],
  ['Ending', 'TakenBack', false],
  ['TakenBack', 'Ending', false],
  ['Ending', 'Ending', true],
])('of a command that is %s, %s stands when it is written: %s', async (held, next, stands) => {
  await started();
  const { kube, log } = cluster;
  const record = present(await writeCommandRecord(kube, { name: 'one', nodesOut }), 'it is new');
  await writeCommandPhase(kube, record, held);
  expect(await writeCommandPhase(kube, record, next)).toBe(stands);
  const [read] = await readCommandRecords({ kube, log });
  expect(read?.phase).toBe(stands ? next : held);
});
