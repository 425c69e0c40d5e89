import {
  type Pod,
  type PodAffinityTerm,
  type TopologySpreadConstraint,
} from '@dovetail/core-kube-model';

import { mebibytes, podOf, selecting } from './objects.js';
import type { Random } from './random.js';

export const zones = ['zone-a', 'zone-b', 'zone-c'] as const;

export const zoneKey = 'topology.kubernetes.io/zone';

const hostKey = 'kubernetes.io/hostname';

export const typeKey = 'node.kubernetes.io/instance-type';

export const capacityKey = 'karpenter.sh/capacity-type';

const apps = ['api', 'web', 'db', 'job', 'cache'] as const;

function spreadOf(random: Random, app: string): TopologySpreadConstraint {
  return {
    maxSkew: random.pick([1, 1, 2]),
    topologyKey: random.pick([zoneKey, zoneKey, hostKey, hostKey, capacityKey]),
    whenUnsatisfiable: random.chance(0.75) ? 'DoNotSchedule' : 'ScheduleAnyway',
    selector: selecting({ app: random.chance(0.85) ? app : random.pick(apps) }),
    nodeAffinityPolicy: random.chance(0.85) ? 'Honor' : 'Ignore',
    nodeTaintsPolicy: random.chance(0.8) ? 'Ignore' : 'Honor',
    ...(random.chance(0.15) ? { minDomains: random.pick([2, 3, 4]) } : {}),
  };
}

const termOf = (random: Random, app: string): PodAffinityTerm => ({
  topologyKey: random.pick([zoneKey, hostKey, hostKey]),
  selector: selecting({ app }),
  namespaces: random.chance(0.2) ? ['default', 'other'] : [],
});

function constraintsOf(random: Random, app: string): Partial<Pod> {
  const zoneIn = (values: readonly string[]) => ({
    matchExpressions: [{ key: zoneKey, operator: 'In' as const, values }],
    matchFields: [],
  });
  return {
    ...(random.chance(0.15)
      ? {
          nodeSelector: random.pick([
            { [zoneKey]: random.pick(zones) },
            { 'kubernetes.io/arch': 'arm64' },
            { [capacityKey]: 'on-demand' },
            { team: 'blue' },
            { nowhere: 'x' },
          ]),
        }
      : {}),
    ...(random.chance(0.12)
      ? { requiredNodeAffinity: [zoneIn(['zone-b']), zoneIn(['zone-a', 'zone-c'])] }
      : {}),
    ...(random.chance(0.12)
      ? {
          preferredNodeAffinity: [
            { weight: 10, term: zoneIn(['zone-c']) },
            { weight: 50, term: zoneIn(['zone-x']) },
          ],
        }
      : {}),
    ...(random.chance(0.2)
      ? { tolerations: [{ key: 'dedicated', operator: 'Exists' as const }] }
      : {}),
    ...(random.chance(0.35)
      ? {
          topologySpread: random.chance(0.3)
            ? [spreadOf(random, app), spreadOf(random, app)]
            : [spreadOf(random, app)],
        }
      : {}),
    ...(random.chance(0.15)
      ? { requiredPodAntiAffinity: [termOf(random, random.chance(0.8) ? app : random.pick(apps))] }
      : {}),
    ...(random.chance(0.12)
      ? { requiredPodAffinity: [termOf(random, random.chance(0.6) ? app : random.pick(apps))] }
      : {}),
    ...(random.chance(0.1)
      ? { preferredPodAntiAffinity: [{ weight: 1, term: termOf(random, app) }] }
      : {}),
    ...(random.chance(0.1)
      ? { preferredPodAffinity: [{ weight: 1, term: termOf(random, random.pick(apps)) }] }
      : {}),
    ...(random.chance(0.06)
      ? { hostPorts: [{ ip: '', port: random.pick([80, 443]), protocol: 'TCP' as const }] }
      : {}),
    ...(random.chance(0.08)
      ? {
          volumes: [
            { claimName: random.pick(['bound-a', 'bound-b', 'waiting', 'missing', 'lost']) },
          ],
        }
      : {}),
  };
}

export function workload(random: Random, name: string, count: number): readonly Pod[] {
  const app = random.pick(apps);
  const over = {
    labels: { app, 'pod-template-hash': name },
    namespace: random.chance(0.85) ? 'default' : 'other',
    requests: {
      cpu: random.pick([50, 100, 250, 500, 1000, 2000, 7000]),
      memory: mebibytes(random.pick([64, 128, 512, 1024, 4096, 20_000])),
      pods: 1,
      ...(random.chance(0.03) ? { 'nvidia.com/gpu': 1 } : {}),
    },
    ...(random.chance(0.55) ? constraintsOf(random, app) : {}),
  };
  return Array.from({ length: count }, (_, index) => podOf(`${name}-${index}`, over));
}
