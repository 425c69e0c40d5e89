import type { Pod, PodAffinityTerm, TopologySpreadConstraint } from '@dovetail/core-kube-model';

import {
  type BinOption,
  checkPlan,
  defaultPlanOptions,
  type NewNode,
  type Placement,
  type Plan,
  type PlanOptions,
  type PoolOptions,
  type Snapshot,
  type Violation,
} from '../index.js';
import { gibibytes, offeringOf, podsOf, poolOf, selecting, snapshotOf, typeOf } from './objects.js';

// Plans written by hand, each wrong in one thing: the checker names that thing and nothing else.

export const typeKey = 'node.kubernetes.io/instance-type';

export const zoneKey = 'topology.kubernetes.io/zone';

export const hostKey = 'kubernetes.io/hostname';

export const types = [2, 4].map((cores) =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(cores * 4),
    pods: 10,
    offerings: ['a', 'b', 'c'].map((zone) => offeringOf(zone, 'on-demand', cores * 100)),
  }),
);

export const option = (
  instanceType: string,
  zone: string,
  over: Partial<BinOption> = {},
): BinOption => ({
  instanceType,
  zone,
  capacityType: 'on-demand',
  priceMicrosPerHour: instanceType === 'm.4' ? 400 : 200,
  ...over,
});

export const bin = (
  id: string,
  podUids: readonly string[],
  over: Partial<NewNode> = {},
): NewNode => ({
  id,
  pool: { kind: 'NodePool', name: 'default' },
  options: [option('m.2', 'a')],
  requirements: [],
  labels: {},
  taints: [],
  requests: {},
  podUids,
  topologyGroups: [],
  minValuesRelaxed: false,
  notes: [],
  ...over,
});

export const placement = (nodeName: string, podUids: readonly string[]): Placement => ({
  nodeName,
  nodeUid: `node-${nodeName}`,
  podUids,
  topologyGroups: [],
});

export type Made = {
  readonly pods: readonly Pod[];
  readonly newNodes?: readonly NewNode[];
  readonly placements?: readonly Placement[];
  readonly snapshot?: Partial<Snapshot>;
  readonly plan?: Partial<Plan>;
  readonly options?: Partial<PlanOptions>;
};

export const worldOf = (made: Made): Snapshot =>
  snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes: types }], ...made.snapshot });

function violationsOf(made: Made): readonly Violation[] {
  const newNodes = made.newNodes ?? [];
  const plan: Plan = {
    stateSequence: 1,
    catalogRevision: 'r',
    admissionHead: '',
    seed: 1,
    steps: 0,
    newNodes,
    placements: made.placements ?? [],
    unplaced: [],
    priceMicrosPerHour: newNodes.reduce(
      (sum, one) => sum + Math.min(...one.options.map((each) => each.priceMicrosPerHour)),
      0,
    ),
    bound: { kind: 'none', priceMicrosPerHour: 0 },
    stats: { pods: made.pods.length, classes: 1, instanceTypes: 2 },
    ...made.plan,
  };
  return checkPlan(worldOf(made), made.pods, plan, { ...defaultPlanOptions, ...made.options });
}

export const found = (made: Made): readonly string[] => [
  ...new Set(violationsOf(made).map((one) => `${one.code} at ${one.where}`)),
];

export const pods = (count: number, over: Partial<Pod> = {}): readonly Pod[] =>
  podsOf('p', count, { labels: { app: 'web' }, ...over });

export const cores = (count: number) => ({ cpu: count * 1000, memory: 1, pods: 1 });

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

export const term = (topologyKey: string, app = 'web'): PodAffinityTerm => ({
  topologyKey,
  selector: selecting({ app }),
  namespaces: [],
});

export const inZone = (zone: string) => ({ options: [option('m.2', zone)] });

export const port = { ip: '', port: 80, protocol: 'TCP' as const };

export const withPool = (
  over: Parameters<typeof poolOf>[1],
  limit: Pick<PoolOptions, 'priceBelowMicrosPerHour'> = {},
): Partial<Snapshot> => ({
  pools: [{ pool: poolOf('default', over), instanceTypes: types, ...limit }],
});
