import type { NodeClaim } from '../claim.js';
import type { NodeClass } from '../node-class.js';
import type { Pool } from '../pool.js';

const classRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } as const;

/** A ready NodePool of the class `default` that takes anything, and changes to it. */
export const poolValue = (name: string, over: Partial<Pool> = {}): Pool => ({
  identity: { kind: 'NodePool', name },
  uid: `pool-${name}`,
  resourceVersion: '1',
  generation: 1,
  createdMs: 0,
  weight: 0,
  limits: {},
  labels: {},
  annotations: {},
  taints: [],
  startupTaints: [],
  requirements: [],
  classRef,
  hash: 'h',
  ready: true,
  disruption: { policy: 'WhenEmpty', budgets: [] },
  ...over,
});

/** A claim of the pool `default` that has not launched yet, and changes to it. */
export const claimValue = (name: string, over: Partial<NodeClaim> = {}): NodeClaim => ({
  uid: `claim-${name}`,
  name,
  resourceVersion: '1',
  createdMs: 0,
  finalizers: [],
  labels: { 'karpenter.sh/nodepool': 'default' },
  annotations: {},
  pool: { kind: 'NodePool', name: 'default' },
  classRef,
  requirements: [],
  requests: {},
  taints: [],
  startupTaints: [],
  capacity: {},
  allocatable: {},
  conditions: [],
  ...over,
});

/** A ready EC2NodeClass of AL2023 that has found nothing yet, and changes to it. */
export const nodeClassValue = (name: string, over: Partial<NodeClass> = {}): NodeClass => ({
  ref: { ...classRef, name },
  uid: `class-${name}`,
  resourceVersion: '1',
  generation: 1,
  ready: true,
  hash: 'h',
  subnetSelectorTerms: [],
  securityGroupSelectorTerms: [],
  amiFamily: 'AL2023',
  amiSelectorTerms: [],
  tags: {},
  kubelet: {},
  blockDeviceMappings: [],
  detailedMonitoring: false,
  metadataOptions: {
    httpEndpoint: 'enabled',
    httpProtocolIpv6: 'disabled',
    httpPutResponseHopLimit: 1,
    httpTokens: 'required',
  },
  status: { subnets: [], securityGroups: [], amis: [] },
  ...over,
});
