import { annotations } from '@dovetail/core-api';
import { claimValue, poolValue } from '@dovetail/core-api/testing';
import { renderRetirement } from '@dovetail/core-disruption';
import { nodeValue } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { ReaperCluster } from './reaper-cluster.js';

const before = poolValue('default');

test.each([
  ['its status', { ready: !before.ready }, []],
  ['its spec', { generation: before.generation + 1 }, ['a', 'b']],
  ['its deletion', { deletionMs: 1 }, ['a', 'b']],
])('a pool that changes in %s is news to these claims: %j', (_, change, expected) => {
  const cluster = new ReaperCluster(() => 0, 'replace');
  cluster.set('pool', before);
  for (const name of ['a', 'b']) cluster.set('claim', claimValue(name));
  const heard: string[] = [];
  cluster.subscribeClaims((names) => heard.push(...names));
  cluster.set('pool', { ...before, ...change, resourceVersion: '9' });
  expect(heard).toEqual(expected);
});

test('a node counts as retiring from its record on until it is asked to go or stays', () => {
  const cluster = new ReaperCluster(() => 0, 'replace');
  const record = { [annotations.retirement]: renderRetirement({ cause: 'drifted', atMs: 0 }) };
  const versions = [{}, { annotations: record }, {}, { annotations: record }];
  const counts = [...versions, { annotations: record, deletionMs: 1 }].map((more, index) => {
    cluster.set('node', nodeValue('n', { ...more, resourceVersion: String(index + 1) }));
    return cluster.retiringCount();
  });
  expect(counts).toEqual([0, 1, 0, 1, 0]);
});
