import { type NodeClaim, type NodeClass, type Pool } from '@dovetail/core-api';
import { claimValue, nodeClassValue, poolValue } from '@dovetail/core-api/testing';
import { instanceTypeValue, offeringValue } from '@dovetail/core-ec2-model/testing';
import { describe, expect, test } from 'vitest';

import { type DriftFacts, driftOf, hashMigration, isTypeMissing } from './drift.js';

const hour = 3_600_000;
const type = instanceTypeValue({
  name: 'm5.large',
  cpuMillis: 2_000,
  memoryBytes: 8e9,
  offerings: [offeringValue('a', 'spot', 1), offeringValue('a', 'on-demand', 2)],
});
const types = new Map([[type.name, type]]);
const true_ = (conditionType: string, reason = '') =>
  ({ type: conditionType, status: 'True', reason, message: '', lastTransitionMs: 1 }) as const;
const hashes = {
  'karpenter.sh/nodepool-hash': '1',
  'karpenter.sh/nodepool-hash-version': 'v3',
  'karpenter.k8s.aws/ec2nodeclass-hash': '2',
  'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v6',
};
const ami = (id: string, arch: 'amd64' | 'arm64' = 'amd64') =>
  ({ id, name: id, deprecated: false, arch, variant: 'standard' }) as const;
const status: NodeClass['status'] = {
  amis: [ami('ami-1')],
  securityGroups: [{ id: 'sg-1' }, { id: 'sg-2' }],
  subnets: [{ id: 'subnet-1', zone: 'a' }],
};

type Changes = {
  readonly claim?: Partial<NodeClaim>;
  readonly annotations?: Readonly<Record<string, string | undefined>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly pool?: Partial<Pool>;
  readonly nodeClass?: Partial<NodeClass>;
  readonly status?: Partial<NodeClass['status']>;
  readonly facts?: Partial<DriftFacts>;
};

/** A claim that is just what its pool and class ask for, and changes to that. */
function factsOf(change: Changes = {}): DriftFacts {
  const written = { ...hashes, ...change.annotations };
  return {
    claim: claimValue('c', {
      conditions: [true_('Launched')],
      imageId: 'ami-1',
      labels: {
        'node.kubernetes.io/instance-type': 'm5.large',
        'topology.kubernetes.io/zone': 'a',
        'karpenter.sh/capacity-type': 'spot',
        team: 'a',
        ...change.labels,
      },
      annotations: Object.fromEntries(
        Object.entries(written).flatMap(([key, value]) =>
          value === undefined ? [] : [[key, value]],
        ),
      ),
      ...change.claim,
    }),
    pool: poolValue('default', { hash: '1', ...change.pool }),
    nodeClass: nodeClassValue('default', {
      hash: '2',
      ...change.nodeClass,
      status: { ...status, ...change.status },
    }),
    types,
    instance: { subnetId: 'subnet-1', securityGroupIds: ['sg-2', 'sg-1'] },
    typeMissingMs: 0,
    ...change.facts,
  };
}
const shown = (change: Changes): string => {
  const drift = driftOf(factsOf(change));
  return drift.kind === 'drifted' ? drift.reason : drift.kind;
};
const without = (key: 'pool' | 'nodeClass' | 'instance', change: Changes = {}): DriftFacts => {
  const { [key]: _absent, ...rest } = factsOf(change);
  return rest as DriftFacts;
};
const requiring = (key: string, operator: 'In' | 'NotIn' | 'Exists', values: string[] = []) => ({
  pool: { requirements: [{ key, operator, values }] },
});

describe("drift, by Karpenter's behaviours", () => {
  test.each<[string, Changes, string]>([
    ['detects nothing when the node is what pool and class ask for', {}, 'none'],
    ['detects static drift of the NodePool', { pool: { hash: '9' } }, 'NodePoolDrifted'],
    [
      'detects no static drift when the NodePool hash annotation is missing from the claim',
      { pool: { hash: '9' }, annotations: { 'karpenter.sh/nodepool-hash': undefined } },
      'none',
    ],
    [
      'detects no static drift when the version is missing from the claim',
      { pool: { hash: '9' }, annotations: { 'karpenter.sh/nodepool-hash-version': undefined } },
      'none',
    ],
    [
      'detects no static drift when the versions differ',
      { pool: { hash: '9' }, annotations: { 'karpenter.sh/nodepool-hash-version': 'v2' } },
      'none',
    ],
    ['detects requirement drift', requiring('team', 'In', ['b']), 'RequirementsDrifted'],
    ['detects none while a label is allowed', requiring('team', 'In', ['a', 'b']), 'none'],
    [
      'detects drift by a label that is excluded',
      requiring('team', 'NotIn', ['a']),
      'RequirementsDrifted',
    ],
    [
      'detects drift by a label that the node lacks',
      requiring('other', 'Exists'),
      'RequirementsDrifted',
    ],
    ['detects none by a label that must not be there', requiring('other', 'NotIn', ['a']), 'none'],
    [
      'detects none by a label that only the requirements of the claim have',
      {
        ...requiring('other', 'Exists'),
        claim: { requirements: [{ key: 'other', operator: 'Exists', values: [] }] },
      },
      'none',
    ],
    [
      'detects a type that is missing for an hour',
      { labels: { 'node.kubernetes.io/instance-type': 'gone' }, facts: { typeMissingMs: hour } },
      'InstanceTypeNotFound',
    ],
    [
      'cannot tell the image of a type that is missing for less',
      {
        labels: { 'node.kubernetes.io/instance-type': 'gone' },
        facts: { typeMissingMs: hour - 1 },
      },
      'unknown',
    ],
    [
      'detects a type that is not offered in the zone any more',
      { labels: { 'topology.kubernetes.io/zone': 'b' }, facts: { typeMissingMs: hour } },
      'InstanceTypeNotFound',
    ],
    ['detects static drift of the class', { nodeClass: { hash: '9' } }, 'NodeClassDrift'],
    [
      'detects no drift of the class when the versions differ',
      {
        nodeClass: { hash: '9' },
        annotations: { 'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v5' },
      },
      'none',
    ],
    [
      'detects an AMI that is not selected any more',
      { status: { amis: [ami('ami-2')] } },
      'AMIDrift',
    ],
    [
      'detects an AMI that is selected, and not the first of its kind',
      { status: { amis: [ami('ami-2'), ami('ami-1')] } },
      'AMIDrift',
    ],
    [
      'detects that no AMI is for the type',
      { status: { amis: [ami('ami-1', 'arm64')] } },
      'AMIDrift',
    ],
    [
      'detects a security group less',
      { status: { securityGroups: [{ id: 'sg-1' }] } },
      'SecurityGroupDrift',
    ],
    [
      'detects a security group more',
      { status: { securityGroups: [{ id: 'sg-1' }, { id: 'sg-2' }, { id: 'sg-3' }] } },
      'SecurityGroupDrift',
    ],
    [
      'detects a subnet that is not selected any more',
      { status: { subnets: [{ id: 'subnet-2', zone: 'a' }] } },
      'SubnetDrift',
    ],
    ['does not take no AMIs for drift', { status: { amis: [] } }, 'unknown'],
    ['does not take no security groups for drift', { status: { securityGroups: [] } }, 'unknown'],
    ['does not take no subnets for drift', { status: { subnets: [] } }, 'unknown'],
    [
      'does not take no instance types for drift',
      { facts: { types: new Map(), typeMissingMs: hour } },
      'unknown',
    ],
    [
      'ignores a claim that has not launched',
      { pool: { hash: '9' }, claim: { conditions: [] } },
      'none',
    ],
    [
      'ignores a claim without a pool',
      { pool: { hash: '9' }, claim: { pool: { kind: 'NodePool', name: '-' } } },
      'none',
    ],
    [
      'tells the NodePool before the class',
      { pool: { hash: '9' }, nodeClass: { hash: '9' } },
      'NodePoolDrifted',
    ],
    [
      'tells the class before the AMI, and the AMI before the groups',
      { nodeClass: { hash: '9' }, status: { amis: [ami('ami-2')], securityGroups: [{ id: 'x' }] } },
      'NodeClassDrift',
    ],
  ])('%s', (_what, change, wanted) => expect(shown(change)).toBe(wanted));

  test.each(['pool', 'nodeClass', 'instance'] as const)('cannot tell without the %s', (key) =>
    expect(driftOf(without(key))).toEqual({ kind: 'unknown' }),
  );

  test.each([
    ['with the field that changed', { labels: { team: 'b' } }, 'label team: a, and b now'],
    ['by its hashes, if no field of the claim differs', {}, 'hash 1, now 9'],
  ])('of the NodePool is told without the class, %s', (_how, pool, change) =>
    expect(driftOf(without('nodeClass', { pool: { hash: '9', ...pool } }))).toEqual({
      kind: 'drifted',
      reason: 'NodePoolDrifted',
      message: `the template of NodePool/default has changed since it was made (${change})`,
    }),
  );
});

test.each<[string, Readonly<Record<string, string>>, boolean]>([
  ['a type of the catalog', {}, false],
  ['another type', { 'node.kubernetes.io/instance-type': 'gone' }, true],
  ['another zone', { 'topology.kubernetes.io/zone': 'b' }, true],
  ['a reservation of a type on demand', { 'karpenter.sh/capacity-type': 'reserved' }, false],
])('%s is missing: that is %s', (_what, labels, missing) =>
  expect(isTypeMissing(factsOf({ labels }))).toBe(missing),
);

describe('hashes of another version', () => {
  const drifted = [true_('Launched'), true_('Drifted', 'AMIDrift')];
  test.each<[string, Changes, object]>([
    ['are left when the version is ours', {}, {}],
    [
      'are written anew, the hash and the version',
      {
        annotations: {
          'karpenter.sh/nodepool-hash': 'old',
          'karpenter.sh/nodepool-hash-version': 'v2',
          'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v5',
        },
      },
      hashes,
    ],
    [
      'keep the hash of a claim that has drifted',
      {
        claim: { conditions: drifted },
        annotations: { 'karpenter.sh/nodepool-hash-version': 'dovetail-v1' },
      },
      { 'karpenter.sh/nodepool-hash-version': 'v3' },
    ],
    ['are written on a claim that has none', { claim: { annotations: {} } }, hashes],
    [
      "are our own for a Provisioner's node",
      { pool: { identity: { kind: 'Provisioner', name: 'default' } } },
      { 'karpenter.sh/nodepool-hash': '1', 'karpenter.sh/nodepool-hash-version': 'dovetail-v1' },
    ],
  ])('%s', (_what, change, wanted) => {
    const { claim, pool, nodeClass } = factsOf(change);
    expect(
      hashMigration(claim, {
        ...(pool === undefined ? {} : { pool }),
        ...(nodeClass === undefined ? {} : { nodeClass }),
      }),
    ).toEqual(wanted);
  });

  test('wait for the class that is not known yet', () =>
    expect(hashMigration(claimValue('c'), {})).toEqual({}));
});
