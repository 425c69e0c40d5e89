import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '@dovetail/core-kube-model';

import type { Plan, Reason } from '../index.js';
import { gibibytes, offeringOf, podOf, poolOf, selecting, typeOf } from './objects.js';
import { planScenario, type Scenario } from './scenario.js';

// Six types: a.2, a.4, a.8 for amd64 (spot and on-demand) and b.2, b.4, b.8 for arm64 (on-demand),
// of 4 GiB a core.

export const zoneKey = 'topology.kubernetes.io/zone';

export const hostKey = 'kubernetes.io/hostname';

const typesOf = (family: string, arch: string, capacity: readonly ('spot' | 'on-demand')[]) =>
  [2, 4, 8].map((cores) =>
    typeOf({
      name: `${family}.${cores}`,
      cpuMillis: cores * 1000,
      memoryBytes: gibibytes(cores * 4),
      arch,
      pods: 20,
      labels: { 'example.com/family': family },
      offerings: ['zone-a', 'zone-b'].flatMap((zone) =>
        capacity.map((one) => offeringOf(zone, one, cores * (one === 'spot' ? 10_000 : 40_000))),
      ),
    }),
  );

export const types = [
  ...typesOf('a', 'amd64', ['spot', 'on-demand']),
  ...typesOf('b', 'arm64', ['on-demand']),
];

export const made = (scenario: Scenario): Plan => planScenario({ types, ...scenario });

/**
 * Why the pod `p`, or the first that is left out, has no place: one reason for each pool and group
 * of nodes.
 */
export const why = (scenario: Scenario): readonly Reason[] => {
  const { unplaced } = made(scenario);
  return (unplaced.find((one) => one.podUid === 'p') ?? unplaced[0])?.reasons ?? [];
};

export const port = { ip: '', port: 443, protocol: 'TCP' as const };

export const spread = (
  topologyKey: string,
  over: Partial<TopologySpreadConstraint> = {},
): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey,
  whenUnsatisfiable: 'DoNotSchedule',
  selector: selecting({ app: 'web' }),
  nodeAffinityPolicy: 'Honor',
  nodeTaintsPolicy: 'Ignore',
  ...over,
});

export const term = (topologyKey: string, app: string): PodAffinityTerm => ({
  topologyKey,
  selector: selecting({ app }),
  namespaces: [],
});

export const wanting = (key: string, value: string): Partial<Pod> => ({
  nodeSelector: { [key]: value },
});

export const cores = (count: number) => ({ cpu: count * 1000, memory: gibibytes(1), pods: 1 });

export const one = (over: Partial<Pod>, rest: Partial<Scenario> = {}): Scenario => ({
  pods: [podOf('p', over)],
  ...rest,
});

export const limited = (limits: Record<string, number>) => [poolOf('default', { limits })];

export const of = 'NodePool/default';
