import type { PlanMessage } from '@dovetail/contracts';
import type { NodeClaim } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import type { BinOption, ExistingNode } from '@dovetail/core-scheduling';

export const claimValue = (name: string, change: Partial<NodeClaim> = {}): NodeClaim => ({
  uid: `uid-${name}`,
  name,
  resourceVersion: '1',
  createdMs: 0,
  finalizers: ['karpenter.sh/termination'],
  labels: {},
  annotations: {},
  pool: { kind: 'NodePool', name: 'general' },
  classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
  requirements: [],
  requests: {},
  taints: [],
  startupTaints: [],
  capacity: {},
  allocatable: {},
  conditions: [],
  ...change,
});

export const nodeValue = (name: string, change: Partial<ExistingNode> = {}): ExistingNode => ({
  name,
  uid: `uid-${name}`,
  state: 'ready',
  labels: {},
  requirements: new Map(),
  taints: [],
  cordoned: false,
  capacity: { cpu: 4000, pods: 10 },
  allocatable: { cpu: 4000, pods: 10 },
  pods: [],
  promisedPods: [],
  reserved: {},
  ...change,
});

export const typeValue = (
  name: string,
  cpu: number,
  change: { readonly available?: boolean; readonly price?: number } = {},
): InstanceType => ({
  name,
  requirements: new Map(),
  capacity: { cpu, pods: 30 },
  allocatable: { cpu: cpu - 100, pods: 30 },
  offerings: [
    {
      zone: 'a',
      capacityType: 'on-demand',
      priceMicrosPerHour: change.price ?? cpu,
      available: change.available ?? true,
      priceEstimated: false,
    },
  ],
});

export const optionOf = (instanceType: string, priceMicrosPerHour: number): BinOption => ({
  instanceType,
  zone: 'a',
  capacityType: 'on-demand',
  priceMicrosPerHour,
});

export const planValue = (id: string, change: Partial<PlanMessage> = {}): PlanMessage => ({
  id,
  cause: { kind: 'pending', group: 'all', round: '1.1' },
  statePosition: { incarnation: 'x', sequence: 1 },
  admissionSeen: { epoch: 1, number: 1 },
  createdMs: 0,
  solver: 's',
  solveMs: 1,
  plan: {
    stateSequence: 1,
    catalogRevision: '',
    admissionHead: '',
    seed: 1,
    steps: 0,
    newNodes: [],
    placements: [],
    unplaced: [],
    priceMicrosPerHour: 0,
    bound: { kind: 'none', priceMicrosPerHour: 0 },
    stats: { pods: 0, classes: 0, instanceTypes: 0 },
  },
  ...change,
});
