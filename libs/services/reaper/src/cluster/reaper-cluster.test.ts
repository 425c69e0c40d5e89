import { claimValue, poolValue } from '@dovetail/core-api/testing';
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
