import type { PlanMessage } from '@dovetail/contracts';
import type { BinOption, NewNode } from '@dovetail/core-scheduling';

import type { IntentRequest } from '../launch/intent.js';

/** The request of a spot launch for two nodes of one of two types. */
export const spotRequest: IntentRequest = {
  capacityType: 'spot',
  count: 2,
  allocation: 'price-capacity-optimized',
  tags: { 'karpenter.sh/nodepool': 'default' },
  configs: [
    {
      launchTemplateName: 'dovetail/1',
      overrides: [
        { instanceType: 'm5.large', subnetId: 'subnet-1', zone: 'a' },
        { instanceType: 'm5.xlarge', subnetId: 'subnet-1', zone: 'a' },
      ],
    },
  ],
};

/** An option on demand in zone `a`. */
export const optionOf = (instanceType: string, priceMicrosPerHour: number): BinOption => ({
  instanceType,
  zone: 'a',
  capacityType: 'on-demand',
  priceMicrosPerHour,
});

/** A plan for pending pods that does nothing, and changes to it. */
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

export const binValue = (
  id: string,
  podUids: readonly string[],
  change: Partial<NewNode> = {},
): NewNode => ({
  id,
  pool: { kind: 'NodePool', name: 'default' },
  options: [optionOf('small', 1), optionOf('large', 4)],
  requirements: [],
  labels: {},
  taints: [],
  requests: {},
  podUids,
  topologyGroups: [],
  minValuesRelaxed: false,
  notes: [],
  ...change,
});
