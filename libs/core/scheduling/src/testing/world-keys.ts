import type { Pool } from '@dovetail/core-api';
import type { Pod, RequirementSpec } from '@dovetail/core-kube-model';
import { inheritedKeys } from '@dovetail/core-kube-model/testing';

import type { ExistingNode, Snapshot } from '../snapshot.js';
import { selecting } from './objects.js';
import type { Random } from './random.js';

type Constraint = (random: Random, key: string, pod: Pod) => Partial<Pod>;

const hostKey = 'kubernetes.io/hostname';

const requirement = (random: Random, key: string): RequirementSpec => ({
  key,
  ...random.pick([
    { operator: 'DoesNotExist' as const, values: [] },
    { operator: 'Exists' as const, values: [] },
    { operator: 'In' as const, values: ['blue', 'red'] },
    { operator: 'NotIn' as const, values: ['blue'] },
  ]),
});

const inEachTerm: Constraint = (random, key, { requiredNodeAffinity }) => {
  const wanted = requirement(random, key);
  const terms = requiredNodeAffinity ?? [{ matchExpressions: [], matchFields: [] }];
  return {
    requiredNodeAffinity: terms.map((term) => ({
      ...term,
      matchExpressions: [...term.matchExpressions, wanted],
    })),
  };
};

const spreadOver = (random: Random, topologyKey: string, labels: Pod['labels']): Partial<Pod> => ({
  topologySpread: [
    {
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: random.pick(['DoNotSchedule', 'ScheduleAnyway']),
      selector: selecting(labels),
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
    },
  ],
});

const constraints: readonly Constraint[] = [
  inEachTerm,
  inEachTerm,
  (_, key, pod) => ({ nodeSelector: { ...pod.nodeSelector, [key]: 'blue' } }),
  (_, key) => ({
    requiredPodAntiAffinity: [{ topologyKey: key, selector: { requirements: [] }, namespaces: [] }],
  }),
  (_, key, { labels }) => ({
    requiredPodAffinity: [
      { topologyKey: key, selector: selecting({ app: labels['app'] ?? '' }), namespaces: [] },
    ],
  }),
  (random, key, { labels }) => spreadOver(random, key, { app: labels['app'] ?? '' }),
  (random, key, pod) => ({
    labels: { ...pod.labels, [key]: 'blue' },
    ...spreadOver(random, hostKey, { [key]: 'blue' }),
  }),
  (random, key) => ({
    requiredPodAntiAffinity: [
      {
        topologyKey: hostKey,
        selector: {
          requirements: [
            { key, operator: random.pick(['Exists', 'DoesNotExist'] as const), values: [] },
          ],
        },
        namespaces: [],
      },
    ],
  }),
  (_, key, pod) => ({ requests: { ...pod.requests, [key]: 1 } }),
];

/** The pods, some workloads of which ask for the key in one way or another. */
function podsWith(random: Random, key: string, pods: readonly Pod[]): readonly Pod[] {
  const changes = new Map<string, (pod: Pod) => Pod>();
  return pods.map((pod) => {
    const workload = pod.labels['pod-template-hash'] ?? pod.uid;
    const known = changes.get(workload);
    if (known !== undefined) return known(pod);
    const over = random.chance(0.4) ? random.pick(constraints)(random, key, pod) : {};
    const change = (one: Pod): Pod => ({ ...one, ...over });
    changes.set(workload, change);
    return change(pod);
  });
}

function nodeWith(random: Random, key: string, node: ExistingNode): ExistingNode {
  const more = random.chance(0.3) ? { [key]: 2 } : {};
  return {
    ...node,
    labels: {
      ...node.labels,
      ...(random.chance(0.3) ? { [key]: random.pick(['blue', 'x']) } : {}),
    },
    capacity: { ...node.capacity, ...more },
    allocatable: { ...node.allocatable, ...more },
    pods: podsWith(random, key, node.pods),
    promisedPods: podsWith(random, key, node.promisedPods),
  };
}

const poolWith = (random: Random, key: string, pool: Pool): Pool => ({
  ...pool,
  labels: { ...pool.labels, ...(random.chance(0.3) ? { [key]: 'blue' } : {}) },
});

/**
 * The world, in every third of which labels, selectors, topology keys and resources have one of the
 * keys that every plain object answers to. The other worlds stay as they are.
 */
export function withInheritedKeys<
  W extends { readonly snapshot: Snapshot; readonly pods: readonly Pod[] },
>(random: Random, world: W): W {
  if (!random.chance(1 / 3)) return world;
  const key = random.pick(inheritedKeys);
  const { snapshot } = world;
  return {
    ...world,
    pods: podsWith(random, key, world.pods),
    snapshot: {
      ...snapshot,
      pools: snapshot.pools.map((one) => ({ ...one, pool: poolWith(random, key, one.pool) })),
      nodes: snapshot.nodes.map((node) => nodeWith(random, key, node)),
    },
  };
}
