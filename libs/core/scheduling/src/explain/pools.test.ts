import type { Pool } from '@dovetail/core-api';
import { present } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import { compose } from '../compose/compose.js';
import { defaultPlanOptions } from '../options.js';
import type { PlanOptions, Snapshot } from '../snapshot.js';
import {
  daemonSetOf,
  gibibytes,
  offeringOf,
  podOf,
  podsOf,
  poolOf,
  selecting,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import { closedReason, poolReasons } from './pools.js';

const typeKey = 'node.kubernetes.io/instance-type';
const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';
const types = [2, 4].map((cores) =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    offerings: ['a', 'b'].map((zone) => offeringOf(zone, 'on-demand', cores * 100)),
  }),
);
const withPools = (...pools: readonly Pool[]): Partial<Snapshot> => ({
  pools: pools.map((pool) => ({ pool, instanceTypes: types })),
});

type Made = {
  readonly pod: Partial<Pod>;
  readonly snapshot?: Partial<Snapshot>;
  readonly beside?: readonly Pod[];
  readonly options?: Partial<PlanOptions>;
};
/** Why each pool does not take the pod `p` of a plan that has been made. */
function reasonsFor({ pod, snapshot, beside = [], options }: Made) {
  const made = snapshotOf({ ...withPools(poolOf('default')), ...snapshot });
  const world = worldOf(made, [podOf('p', pod), ...beside], { ...defaultPlanOptions, ...options });
  const { engine } = compose(world);
  const cls = world.classes.find(({ uids }) => uids.includes('p'));
  return poolReasons(engine, present(cls, 'the pod has a class'));
}
const codes = (made: Made): readonly string[] =>
  reasonsFor(made).map(({ code, subject }) =>
    subject === undefined ? code : `${code} ${subject}`,
  );

describe('a pool that planning leaves out', () => {
  test.each<[string, Partial<Pool>, string | undefined]>([
    ['is open', {}, undefined],
    ['is static', { replicas: 0 }, 'pool-static'],
    ['is being deleted', { deletionMs: 0 }, 'pool-deleting'],
    ['is not ready', { ready: false }, 'pool-not-ready'],
    ['is static first', { replicas: 1, deletionMs: 1, ready: false }, 'pool-static'],
    ['is being deleted before it is not ready', { deletionMs: 1, ready: false }, 'pool-deleting'],
  ])('%s', (_, over, code) => {
    expect(closedReason(poolOf('x', over))?.code).toBe(code);
  });
});

describe('the first constraint of a pool that nothing passes', () => {
  const tainted = poolOf('default', { taints: [{ key: 'x', effect: 'NoSchedule' }] });
  const port = { ip: '', port: 80, protocol: 'TCP' as const };
  const affinity = (topologyKey: string) => ({
    requiredPodAffinity: [{ topologyKey, selector: selecting({ app: 'db' }), namespaces: [] }],
  });
  test.each<[string, Made, string]>([
    ['a taint', { pod: {}, snapshot: withPools(tainted) }, 'taint-not-tolerated'],
    [
      'a taint, though the labels are wrong too',
      { pod: { nodeSelector: { team: 'x' } }, snapshot: withPools(tainted) },
      'taint-not-tolerated',
    ],
    ['a label', { pod: { nodeSelector: { team: 'x' } } }, 'requirement-mismatch'],
    ['a zone', { pod: { nodeSelector: { [zoneKey]: 'z' } } }, 'requirement-mismatch'],
    ['the size', { pod: { requests: { cpu: 5000 } } }, 'resources-too-large'],
    [
      'the size, of the types that the labels leave',
      {
        pod: {
          requests: { cpu: 3000 },
          nodeSelector: { 'node.kubernetes.io/instance-type': 'm.2' },
        },
      },
      'resources-too-large',
    ],
    ['a resource that no type has', { pod: { requests: { gpu: 1 } } }, 'resources-too-large'],
    [
      'daemonsets',
      { pod: { requests: { cpu: 4000 } }, snapshot: { daemonSets: [daemonSetOf('d')] } },
      'daemonset-overhead',
    ],
    [
      'a host port of a daemonset',
      {
        pod: { hostPorts: [port] },
        snapshot: { daemonSets: [daemonSetOf('d', { hostPorts: [port] })] },
      },
      'host-port',
    ],
    [
      'a limit',
      { pod: {}, snapshot: withPools(poolOf('default', { limits: { cpu: 1000 } })) },
      'pool-limit',
    ],
    [
      'minValues',
      {
        pod: { nodeSelector: { [typeKey]: 'm.2' } },
        snapshot: withPools(
          poolOf('default', {
            requirements: [{ key: typeKey, operator: 'Exists', values: [], minValues: 2 }],
          }),
        ),
      },
      'min-values',
    ],
    [
      'labels that its requirements exclude',
      {
        pod: {},
        snapshot: withPools(
          poolOf('default', {
            labels: { team: 'x' },
            requirements: [{ key: 'team', operator: 'In', values: ['y'] }],
          }),
        ),
      },
      'no-offering',
    ],
    ['affinity over zones', { pod: affinity(zoneKey) }, 'pod-affinity'],
    ['affinity over hosts', { pod: affinity(hostKey) }, 'pod-affinity'],
  ])('is %s', (_, made, code) => {
    expect(codes(made)).toEqual([`${code} NodePool/default`]);
  });

  test('is a rule that other pods of the plan filled up', () => {
    const alone = {
      labels: { app: 'web' },
      requiredPodAntiAffinity: [
        { topologyKey: zoneKey, selector: selecting({ app: 'web' }), namespaces: [] },
      ],
    };
    const [reason] = reasonsFor({
      pod: { ...alone, createdMs: 9, requests: { cpu: 50 } },
      beside: podsOf('q', 2, alone),
    });
    expect(reason).toMatchObject({
      code: 'displaced',
      values: {
        rule: 'pod-anti-affinity',
        key: zoneKey,
        by: 'default/q-0 (2 pods)',
        counts: 'a=1,b=1',
      },
    });
  });

  test('is the limit, with the pods that took what it left', () => {
    const [reason] = reasonsFor({
      pod: { requests: { cpu: 1900 } },
      beside: [podOf('q', { requests: { cpu: 2000 } })],
      snapshot: withPools(poolOf('default', { limits: { cpu: 3000 } })),
    });
    expect(reason).toMatchObject({
      code: 'pool-limit',
      values: { limit: 'cpu=3', left: '1', smallest: '2', by: 'default/q' },
      remedy: 'raise the limit cpu of NodePool/default to 4',
    });
  });

  test('is none where the search was ended early', () => {
    const options = { shouldStop: () => true };
    expect(codes({ pod: {}, options })).toEqual(['budget-ended NodePool/default']);
  });
});

describe('one reason for each pool', () => {
  test('open pools first, then those that are left out', () => {
    const snapshot = withPools(
      poolOf('off', { ready: false, weight: 9 }),
      poolOf('small', { limits: { cpu: 1000 } }),
      poolOf('other', { taints: [{ key: 'x', effect: 'NoSchedule' }], weight: 1 }),
    );
    expect(codes({ pod: {}, snapshot })).toEqual([
      'taint-not-tolerated NodePool/other',
      'pool-limit NodePool/small',
      'pool-not-ready NodePool/off',
    ]);
  });

  test('one for all when there is no pool', () => {
    expect(codes({ pod: {}, snapshot: { pools: [] } })).toEqual(['no-pools']);
  });
});
