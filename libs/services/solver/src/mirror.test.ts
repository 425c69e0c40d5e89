import { podValue } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { Mirror } from './mirror.js';

test('pods that are equal in a part have it once in memory', () => {
  const mirror = new Mirror();
  for (const [index, uid] of ['a', 'b'].entries())
    mirror.applyState({
      kind: 'record',
      sequence: index + 1,
      timeMs: 0,
      record: {
        kind: 'set',
        uid,
        generation: '1.1',
        state: { kind: 'pod', value: podValue(uid, { nodeName: 'n', labels: { app: 'web' } }) },
      },
    });
  const { pods } = mirror.cluster;
  expect(pods.get('b')).toEqual(podValue('b', { nodeName: 'n', labels: { app: 'web' } }));
  expect(pods.get('b')?.labels).toBe(pods.get('a')?.labels);
});
