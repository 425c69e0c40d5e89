import { describe, expect, test } from 'vitest';

import type { Reason } from './index.js';
import {
  cores,
  hostKey,
  limited,
  of,
  one,
  port,
  spread,
  term,
  types,
  wanting,
  why,
  zoneKey,
} from './testing/explaining.js';
import { daemonSetOf, nodeOf, podOf, podsOf, poolOf } from './testing/objects.js';
import { type Scenario } from './testing/scenario.js';

describe('a pool that has no place for a pod says at which constraint the last type fell, and what would help', () => {
  type Row = readonly [what: string, scenario: Scenario, reason: Partial<Reason>];
  test.each<Row>([
    [
      'room that daemonsets take',
      one(
        { requests: cores(8) },
        { snapshot: { daemonSets: [daemonSetOf('agent', { requests: cores(1) })] } },
      ),
      {
        code: 'daemonset-overhead',
        values: { resource: 'cpu', requested: '8', largest: '7', steps: 'cpu 6 of 6' },
        message: `the pod asks for 8 cpu; beside daemonsets, which take 1, the largest type of ${of} has 7`,
        remedy: `ask for at most 7 cpu, or allow larger types in ${of}`,
      },
    ],
    [
      'daemonsets that fit nowhere by themselves',
      one({}, { snapshot: { daemonSets: [daemonSetOf('agent', { requests: cores(9) })] } }),
      {
        code: 'daemonset-overhead',
        message: `daemonsets alone do not fit on any of the 6 types of ${of}`,
      },
    ],
    [
      'a host port that a daemonset takes',
      one(
        { hostPorts: [port] },
        { snapshot: { daemonSets: [daemonSetOf('edge', { hostPorts: [port] })] } },
      ),
      {
        code: 'host-port',
        values: { port: '443' },
        fell: { count: 6, of: 6 },
        remedy: 'use another host port, or none',
      },
    ],
    [
      'a limit',
      one({ requests: cores(3) }, { pools: limited({ cpu: 3000 }) }),
      {
        code: 'pool-limit',
        values: { limit: 'cpu=3', left: '3', smallest: '4' },
        message: `the limit of 3 cpu leaves 3 in ${of}; the smallest node for this pod needs 4`,
        remedy: `raise the limit cpu of ${of} to 4`,
      },
    ],
    [
      'a limit that nodes have used up',
      one(
        { requests: cores(1) },
        {
          pools: limited({ nodes: 1 }),
          snapshot: { nodes: [nodeOf('n', { poolKey: of, cordoned: true })] },
        },
      ),
      {
        code: 'pool-limit',
        values: { limit: 'nodes=1', left: '0', smallest: '1' },
        remedy: `raise the limit nodes of ${of} to 2`,
      },
    ],
    [
      'a price cap',
      one({}, { pools: [poolOf('default', { maxPriceMicrosPerHour: 15_000 })] }),
      {
        code: 'price-cap',
        values: { cap: '15000', cheapest: '20000' },
        message: `every type of ${of} costs more than its cap of $0.015/h; the cheapest is $0.02/h`,
        remedy: `raise the cap of ${of} to $0.02/h`,
      },
    ],
    [
      'requirements that rule out every type',
      one(
        {},
        {
          pools: [
            poolOf('default', {
              requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['riscv'] }],
            }),
          ],
        },
      ),
      {
        code: 'no-offering',
        fell: { count: 6, of: 6 },
        message: `${of} admits none of the 6 types that its class can boot: it wants kubernetes.io/arch In [riscv], they have In [amd64, arm64]`,
        remedy: `widen kubernetes.io/arch of ${of}`,
      },
    ],
    [
      'types that are all out of capacity',
      one(
        {},
        {
          types: types.map((type) => ({
            ...type,
            offerings: type.offerings.map((offering) => ({ ...offering, available: false })),
          })),
        },
      ),
      { code: 'no-capacity', fell: { count: 6, of: 6 } },
    ],
    [
      'a class without types',
      one({}, { types: [] }),
      { code: 'no-offering', message: `the node class of ${of} can boot no instance type` },
    ],
    [
      'too few values for minValues',
      one(
        { requests: cores(7) },
        {
          pools: [
            poolOf('default', {
              requirements: [
                {
                  key: 'node.kubernetes.io/instance-type',
                  operator: 'Exists',
                  values: [],
                  minValues: 4,
                },
              ],
            }),
          ],
        },
      ),
      {
        code: 'min-values',
        values: { key: 'node.kubernetes.io/instance-type', wanted: '4', possible: '2' },
        remedy:
          'lower minValues of node.kubernetes.io/instance-type to 2, or use the policy BestEffort',
      },
    ],
    [
      'an affinity to nobody',
      one({ requiredPodAffinity: [term(zoneKey, 'db')] }),
      {
        code: 'pod-affinity',
        values: { key: zoneKey, counts: '' },
        message: `affinity over ${zoneKey} (the cluster has no pod that it selects) leaves no domain open`,
        remedy:
          'create a pod that the term selects, or prefer the affinity instead of requiring it',
      },
    ],
    [
      'a spread over a label that no node has',
      one({ topologySpread: [spread('example.com/rack')] }),
      {
        code: 'topology-spread',
        message:
          'spread over example.com/rack (no node that it may use has example.com/rack) leaves no domain open',
      },
    ],
    [
      'an affinity to a node of nobody',
      one({ requiredPodAffinity: [term(hostKey, 'db')] }),
      {
        code: 'pod-affinity',
        message: `affinity over ${hostKey} rules out an empty node of ${of}, and no node with room has a pod that it selects`,
      },
    ],
    [
      'a spread over zones that are full',
      one(
        {
          labels: { app: 'web' },
          ...wanting(zoneKey, 'zone-a'),
          topologySpread: [spread(zoneKey, { nodeAffinityPolicy: 'Ignore' })],
        },
        {
          snapshot: {
            nodes: [
              nodeOf('m', { cordoned: true, labels: { [zoneKey]: 'zone-b' } }),
              nodeOf('n', {
                cordoned: true,
                labels: { [zoneKey]: 'zone-a' },
                pods: podsOf('run', 1, { labels: { app: 'web' }, phase: 'Running' }),
              }),
            ],
          },
        },
      ),
      {
        code: 'topology-spread',
        values: { key: zoneKey, counts: 'zone-a=1', maxSkew: '1' },
        message: `spread over ${zoneKey} (zone-a=1) leaves no domain open`,
      },
    ],
    [
      'anti-affinity of a running pod',
      one(
        { labels: { app: 'web' }, ...wanting(zoneKey, 'zone-a') },
        {
          snapshot: {
            nodes: [
              nodeOf('n', {
                cordoned: true,
                labels: { [zoneKey]: 'zone-a' },
                pods: [
                  podOf('guard', {
                    phase: 'Running',
                    requiredPodAntiAffinity: [term(zoneKey, 'web')],
                  }),
                ],
              }),
            ],
          },
        },
      ),
      {
        code: 'pod-anti-affinity',
        values: { key: zoneKey, counts: expect.any(String) as unknown as string },
        remedy: "change the pod's labels, or the other pods' anti-affinity",
      },
    ],
  ])('%s', (_, scenario, reason) =>
    expect(why(scenario)[0]).toMatchObject({ subject: of, ...reason }),
  );
});
