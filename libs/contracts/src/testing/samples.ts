import type { Plan, Reason } from '@dovetail/core-scheduling';

import type {
  ClassCatalog,
  Decision,
  PendingBatch,
  PlanMessage,
  PlanRecord,
  StateRecord,
  StateValue,
  UnavailableOffering,
} from '../messages.js';
import type { PlanReply, PlanRequest } from '../planner-messages.js';
import {
  sampleClaim,
  sampleClass,
  sampleDaemonSet,
  sampleNode,
  samplePod,
  samplePool,
} from './sample-objects.js';

const sampleReason: Reason = {
  code: 'resources-too-large',
  message: 'cpu 200 is more than the largest type has',
  values: { resource: 'cpu', requested: '200' },
  subject: 'NodePool/default',
  fell: { count: 10, of: 10 },
  remedy: 'ask for 192',
};

/** One of each kind of the state feed. */
const sampleStates: readonly StateValue[] = [
  { kind: 'pod', value: samplePod },
  { kind: 'node', value: sampleNode },
  { kind: 'claim', value: sampleClaim },
  { kind: 'pool', value: samplePool },
  { kind: 'nodeclass', value: sampleClass },
  { kind: 'daemonset', value: sampleDaemonSet },
  {
    kind: 'pdb',
    value: {
      uid: 'u',
      namespace: 'n',
      name: 'b',
      resourceVersion: '1',
      selector: { requirements: [] },
      minAvailable: '50%',
      maxUnavailable: '1',
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      disruptionsAllowed: 2,
    },
  },
  {
    kind: 'namespace',
    value: { uid: 'u', name: 'shop', resourceVersion: '1', labels: { a: 'b' } },
  },
  {
    kind: 'pv',
    value: {
      uid: 'u',
      name: 'v',
      resourceVersion: '1',
      deletionMs: 3,
      nodeAffinity: [{ matchExpressions: [], matchFields: [] }],
      driver: 'ebs.csi.aws.com',
      local: true,
    },
  },
  {
    kind: 'pvc',
    value: {
      uid: 'u',
      namespace: 'n',
      name: 'c',
      resourceVersion: '1',
      deletionMs: 2,
      phase: 'Bound',
      volumeName: 'v',
      bindCompleted: true,
      storageClassName: 'gp3',
      onePod: true,
    },
  },
  {
    kind: 'storageclass',
    value: {
      uid: 'u',
      name: 's',
      resourceVersion: '1',
      createdMs: 4,
      isDefault: true,
      provisioner: 'ebs.csi.aws.com',
      bindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [],
    },
  },
  {
    kind: 'csinode',
    value: { uid: 'u', name: 'n', resourceVersion: '1', limits: { 'ebs.csi.aws.com': 25 } },
  },
  {
    kind: 'promise',
    value: {
      holderUid: 'u',
      holderKind: 'NodeClaim',
      holderName: 'c',
      podUids: ['a', 'b'],
      admission: { epoch: 3, number: 12 },
      untilMs: 99,
      reserved: { cpu: 1 },
      forPodUids: ['c'],
    },
  },
  {
    kind: 'verdict',
    value: {
      podUid: 'u',
      outcome: 'refused',
      planId: 'p',
      binId: 'bin-0',
      admission: { epoch: 3, number: 12 },
      reasons: [sampleReason],
      atMs: 7,
    },
  },
  { kind: 'admission', value: { epoch: 3, number: 0 } },
];

export const sampleRecords: readonly StateRecord[] = [
  ...sampleStates.map((state): StateRecord => ({
    kind: 'set',
    uid: state.kind === 'admission' ? 'head' : `${state.kind}-uid`,
    state,
    generation: '1.1',
  })),
  { kind: 'gone', stateKind: 'claim', uid: 'claim-uid', generation: '2.9' },
];

const options = [
  {
    instanceType: 'm5.large',
    zone: 'us-east-1a',
    capacityType: 'spot',
    priceMicrosPerHour: 35_000,
  },
  {
    instanceType: 'm5.xlarge',
    zone: 'us-east-1b',
    capacityType: 'reserved',
    priceMicrosPerHour: 0,
    reservationId: 'cr-1',
  },
] as const;

export const samplePlan: Plan = {
  stateSequence: 41,
  catalogRevision: 'r1',
  admissionHead: '3.11',
  seed: 42,
  steps: 17,
  nodeChargeMicrosPerHour: 5000,
  assumedRequests: { cpu: 25, memory: 262_144_000 },
  newNodes: [
    {
      id: 'bin-0',
      pool: { kind: 'NodePool', name: 'default' },
      options,
      requirements: [{ key: 'k', operator: 'In', values: ['v'] }],
      labels: { l: '1' },
      taints: [{ key: 't', effect: 'NoSchedule' }],
      requests: { cpu: 1500 },
      podUids: ['pod-uid-1'],
      topologyGroups: ['zone/web'],
      minValuesRelaxed: true,
      notes: [sampleReason],
    },
    {
      id: 'bin-1',
      pool: { kind: 'Provisioner', name: 'default' },
      options: [options[1], options[0]],
      requirements: [],
      labels: {},
      taints: [],
      requests: {},
      podUids: ['pod-uid-2'],
      topologyGroups: [],
      minValuesRelaxed: false,
      notes: [],
    },
  ],
  placements: [{ nodeName: 'n', nodeUid: 'nu', podUids: ['pod-uid-3'], topologyGroups: ['g'] }],
  unplaced: [
    { podUid: 'pod-uid-4', reasons: [sampleReason, { ...sampleReason, code: 'no-pools' }] },
  ],
  priceMicrosPerHour: 35_000,
  bound: { kind: 'assignment-lp', priceMicrosPerHour: 30_000 },
  stats: { pods: 4, classes: 3, instanceTypes: 600 },
};

const position = { incarnation: '2026-11-21T14:00:00Z', sequence: 41 };

export const samplePlanMessage: PlanMessage = {
  id: '0123456789abcdef',
  cause: { kind: 'pending', group: 'g1', round: '3.7' },
  plan: samplePlan,
  statePosition: position,
  admissionSeen: { epoch: 3, number: 11 },
  createdMs: 1_700_000_000_000,
  solver: 'solver-1',
  solveMs: 12,
};

export const sampleReplacement: PlanMessage = {
  ...samplePlanMessage,
  cause: { kind: 'replacement', nodeName: 'n', nodeUid: 'nu', reason: 'interrupted' },
};

export const sampleJointReplacement: PlanMessage = {
  ...samplePlanMessage,
  cause: {
    kind: 'replacement',
    nodeName: 'n',
    nodeUid: 'nu',
    reason: 'interrupted',
    others: [{ nodeName: 'n2', nodeUid: 'nu2' }],
  },
};

export const sampleCommandPlan: PlanMessage = {
  ...samplePlanMessage,
  cause: { ...sampleJointReplacement.cause, command: 'underutilized-1' } as PlanMessage['cause'],
};

const { plan: _, ...origin } = sampleCommandPlan;
export const samplePlanRecord: PlanRecord = { ...origin, input: '{"form":1}' };

export const sampleBatch: PendingBatch = {
  group: 'g1',
  podUids: ['a', 'b'],
  round: '3.7',
  statePosition: position,
  cutAtMs: 10,
  youngestMs: 9,
};

export const sampleRequest: PlanRequest = {
  podUids: ['a'],
  withoutNodes: ['n'],
  commit: { nodeName: 'n', nodeUid: 'nu', reason: 'expired' },
  maxPriceMicrosPerHour: 5,
  budgetMs: 200,
};

export const sampleJointRequest: PlanRequest = {
  podUids: ['a', 'b'],
  withoutNodes: ['n', 'n2'],
  commit: {
    nodeName: 'n',
    nodeUid: 'nu',
    reason: 'expired',
    others: [{ nodeName: 'n2', nodeUid: 'nu2' }],
  },
  budgetMs: 200,
};

export const sampleReply: PlanReply = { planId: 'p', plan: samplePlan, statePosition: position };

export const sampleCatalog: ClassCatalog = {
  classUid: 'class-uid-1',
  revision: 'r1',
  part: 0,
  parts: 1,
  instanceTypes: [
    {
      name: 'm5.large',
      requirements: new Map([
        ['kubernetes.io/arch', { kind: 'in', values: new Set(['amd64']), present: true }],
        [
          'x',
          {
            kind: 'notIn',
            values: new Set(['a', 'b']),
            gte: -3,
            lte: 8,
            present: false,
            minValues: 1,
          },
        ],
      ]),
      offerings: [
        {
          zone: 'us-east-1a',
          zoneId: 'use1-az1',
          capacityType: 'reserved',
          priceMicrosPerHour: 96_000,
          available: true,
          reservation: { id: 'cr-1', remaining: 3 },
          priceEstimated: true,
        },
      ],
      dedicatedPrice: { micros: 102_000, estimated: true },
      capacity: { cpu: 2000, memory: 8 * 2 ** 30 },
      allocatable: { cpu: 1930 },
    },
  ],
};

export const sampleUnavailable: UnavailableOffering = {
  instanceType: 'm5.large',
  zone: 'us-east-1a',
  capacityType: 'spot',
  untilMs: 5,
  awsCode: 'InsufficientInstanceCapacity',
  failures: 2,
};

export const sampleDecision: Decision = {
  id: 'd1',
  kind: 'launch-failed',
  atMs: 1_700_000_000_000,
  source: 'launcher',
  pool: { kind: 'NodePool', name: 'default' },
  summary: 'm5.large in us-east-1a is out of capacity',
  objects: [
    { kind: 'NodeClaim', name: 'c', uid: 'u' },
    { kind: 'Pod', name: 'web-1', namespace: 'shop' },
  ],
  reasons: [sampleReason],
  alternatives: [{ what: 'm5.xlarge', priceMicrosPerHour: 9, reason: 'dearer' }],
  priceMicrosPerHour: 1,
  lowerBoundMicrosPerHour: 1,
  priceEstimated: false,
  planId: 'p',
  claimName: 'c',
  instanceId: 'i-1',
  instanceType: 'm5.large',
  zone: 'us-east-1a',
  capacityType: 'on-demand',
  facts: { a: 'b' },
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
};
