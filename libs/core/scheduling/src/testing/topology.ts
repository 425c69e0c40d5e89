import {
  type Pod,
  type PodAffinityTerm,
  type TopologySpreadConstraint,
} from '@dovetail/core-kube-model';

import { nodeOf, podsOf, selecting } from './objects.js';

export const zoneKey = 'topology.kubernetes.io/zone';

export const hostKey = 'kubernetes.io/hostname';

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

export const web = (over: Partial<Pod> = {}): Partial<Pod> => ({ labels: { app: 'web' }, ...over });

export const term = (
  topologyKey: string,
  app: string,
  over: Partial<PodAffinityTerm> = {},
): PodAffinityTerm => ({ topologyKey, selector: selecting({ app }), namespaces: [], ...over });

export const running = (zone: string, count: number) =>
  nodeOf(`n-${zone}`, {
    cordoned: true,
    labels: { [zoneKey]: zone },
    pods: podsOf(`run-${zone}`, count, { ...web(), phase: 'Running' }),
  });
