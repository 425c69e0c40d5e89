import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import type { Reason } from './index.js';
import { cores, hostKey, of, one, port, term, wanting, why } from './testing/explaining.js';
import { nodeOf, podOf, podsOf, poolOf } from './testing/objects.js';

describe('pools that are closed say why', () => {
  test.each([
    ['static', { replicas: 2 }, 'pool-static', 'create a pool without spec.replicas'],
    ['going', { deletionMs: 1 }, 'pool-deleting', 'create another pool'],
    ['not ready', { ready: false }, 'pool-not-ready', `make ${of} ready`],
  ] as const)('%s', (_, over, code, remedy) =>
    expect(why(one({}, { pools: [poolOf('default', over)] }))).toEqual([
      expect.objectContaining({ code, subject: of, remedy }),
    ]),
  );
  test('and where there is none, that is said', () =>
    expect(why(one({}, { pools: [] }))).toEqual([
      {
        code: 'no-pools',
        values: {},
        message: 'there is no NodePool or Provisioner',
        remedy: 'create a NodePool',
      },
    ]));
  test('each pool has a reason of its own', () =>
    expect(
      why(
        one(
          { requests: cores(9) },
          { pools: [poolOf('a', { taints: [{ key: 'x', effect: 'NoSchedule' }] }), poolOf('b')] },
        ),
      ).map((reason) => [reason.subject, reason.code]),
    ).toEqual([
      ['NodePool/b', 'resources-too-large'],
      ['NodePool/a', 'taint-not-tolerated'],
    ]));
});

describe('existing nodes are grouped by the first thing that ruled them out, with what was asked and what was left', () => {
  const nodes = [
    nodeOf('full', { pods: podsOf('run', 4, { phase: 'Running', requests: cores(1) }) }),
    nodeOf('half', { pods: podsOf('half', 2, { phase: 'Running', requests: cores(1) }) }),
    nodeOf('tainted', { taints: [{ key: 'x', effect: 'NoSchedule' }] }),
    nodeOf('shut', { cordoned: true }),
  ];
  test('full, tainted and cordoned ones', () =>
    expect(why(one({ requests: cores(3) }, { pools: [], snapshot: { nodes } })).slice(1)).toEqual([
      {
        code: 'node-full',
        subject: 'existing nodes',
        values: { resource: 'cpu', requested: '3', largest: '2' },
        fell: { count: 2, of: 4 },
        message: '2 of 4 existing nodes: not enough cpu; 3 requested, at most 2 free',
        remedy: 'ask for at most 2 cpu',
      },
      {
        code: 'node-cordoned',
        subject: 'existing nodes',
        values: {},
        fell: { count: 1, of: 4 },
        message: '1 of 4 existing nodes: cordoned or being deleted',
      },
      {
        code: 'taint-not-tolerated',
        subject: 'existing nodes',
        values: { taint: 'x:NoSchedule' },
        fell: { count: 1, of: 4 },
        message: '1 of 4 existing nodes: taint x:NoSchedule is not tolerated',
        remedy: 'add a toleration for x:NoSchedule',
      },
    ]));
  test.each<[string, Partial<Pod>, Parameters<typeof nodeOf>[1], Partial<Reason>]>([
    [
      'a label',
      wanting('disk', 'ssd'),
      {},
      {
        code: 'requirement-mismatch',
        message: '1 of 1 existing nodes: label disk is not In [ssd]',
      },
    ],
    [
      'a host port',
      { hostPorts: [port] },
      { pods: [podOf('run', { phase: 'Running', hostPorts: [port] })] },
      { code: 'host-port', values: { port: '443' } },
    ],
    [
      'anti-affinity',
      { requiredPodAntiAffinity: [term(hostKey, 'db')] },
      { pods: [podOf('run', { phase: 'Running', labels: { app: 'db' } })] },
      {
        code: 'pod-anti-affinity',
        message: `1 of 1 existing nodes: anti-affinity over ${hostKey} keeps the pod away`,
      },
    ],
    [
      'affinity',
      { requiredPodAffinity: [term(hostKey, 'db')] },
      {},
      {
        code: 'pod-affinity',
        message: `1 of 1 existing nodes: affinity over ${hostKey} keeps the pod away`,
      },
    ],
  ])('%s', (_, over, node, reason) =>
    expect(
      why(one(over, { pools: [], snapshot: { nodes: [nodeOf('n', node)] } }))[1],
    ).toMatchObject({ subject: 'existing nodes', fell: { count: 1, of: 1 }, ...reason }),
  );
});
