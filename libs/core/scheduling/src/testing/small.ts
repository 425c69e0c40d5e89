import type { DaemonSet, Pod } from '@dovetail/core-kube-model';

import { daemonSetOf, mebibytes, podOf, selecting } from './objects.js';
import { Random } from './random.js';

const zoneKey = 'topology.kubernetes.io/zone';
const hostKey = 'kubernetes.io/hostname';

/** The rules that the pods of a small deployment may have, as people write them. */
function rulesOf(random: Random, app: string): Partial<Pod> {
  const selector = selecting({ app });
  const spread = (maxSkew: number): Partial<Pod> => ({
    topologySpread: [
      {
        maxSkew,
        topologyKey: zoneKey,
        whenUnsatisfiable: 'DoNotSchedule',
        selector,
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Ignore',
      },
    ],
  });
  const apart: Partial<Pod> = {
    requiredPodAntiAffinity: [{ topologyKey: hostKey, selector, namespaces: [] }],
  };
  const rules = [{}, {}, spread(1), spread(1), spread(2), apart, { ...spread(1), ...apart }];
  return random.pick(rules);
}

/**
 * A few deployments of at most a hundred pods together, some spread over zones or kept apart, and
 * up to two daemonsets. Equal seeds give equal pods.
 */
export function smallWorkloads(seed: number): {
  readonly pods: readonly Pod[];
  readonly daemonSets: readonly DaemonSet[];
} {
  const random = new Random(seed * 7919 + 5);
  const pods: Pod[] = [];
  const deployments = 1 + Math.floor(random.next() * 5);
  for (let deployment = 0; deployment < deployments; deployment += 1) {
    const app = `app-${deployment}`;
    const cpu = random.pick([100, 250, 300, 500, 750, 1000, 1500, 2000, 4000]);
    const perCore = random.pick([0.5, 1, 2, 2, 4, 4, 8]);
    const memory = mebibytes(Math.max(64, Math.round((cpu * perCore) / 64) * 64));
    const shared = { labels: { app }, requests: { cpu, memory, pods: 1 }, ...rulesOf(random, app) };
    const replicas = random.pick([1, 2, 3, 3, 4, 6, 9, 12, 20]);
    for (let replica = 0; replica < replicas; replica += 1)
      pods.push(podOf(`${app}-${replica}`, shared));
  }
  const daemonSets = [
    daemonSetOf('agent', { requests: { cpu: 100, memory: mebibytes(128), pods: 1 } }),
    daemonSetOf('logs', { requests: { cpu: 150, memory: mebibytes(384), pods: 1 } }),
  ];
  return { pods, daemonSets: daemonSets.slice(0, Math.floor(random.next() * 3)) };
}
