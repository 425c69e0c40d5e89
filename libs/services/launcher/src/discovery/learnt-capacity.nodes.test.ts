import { claimValue, nodeClassValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { plainTypeValue, typesByName } from '@dovetail/core-ec2-model/testing';
import { nodeValue } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { LearntCapacity } from './learnt-capacity.js';

const initialized = {
  type: 'Initialized',
  status: 'True',
  reason: 'Initialized',
  message: '',
  lastTransitionMs: 0,
} as const;
/** A claim of the class, ready. */
const ofClass = {
  imageId: 'ami-1',
  annotations: { 'karpenter.k8s.aws/ec2nodeclass-hash': 'h' },
  conditions: [initialized],
};
const ami = {
  id: 'ami-1',
  name: 'al2023',
  deprecated: false,
  arch: 'amd64',
  variant: 'standard',
} as const;

test('each node is compared once, and not at each look at its class', () => {
  const cluster = new Cluster();
  let reads = 0;
  const add = (name: string): void => {
    const labels = { 'node.kubernetes.io/instance-type': 'a' };
    const capacity = {
      get: () => {
        reads += 1;
        return { memory: 7_000_000_000 };
      },
    };
    cluster.set('node', Object.defineProperty(nodeValue(name, { labels }), 'capacity', capacity));
    cluster.set('claim', claimValue(name, { ...ofClass, nodeName: name }));
  };
  const status = { subnets: [], securityGroups: [], amis: [ami] };
  const look = (): void => void learnt.look(nodeClassValue('default', { status }), types);
  const learnt = new LearntCapacity(cluster, { vmMemoryOverheadPercent: 0.075 });
  const types = typesByName(plainTypeValue('a', 2_000));
  for (let index = 0; index < 100; index += 1) add(`n${index}`);
  look();
  expect(reads).toBeGreaterThanOrEqual(100);
  reads = 0;
  look();
  expect(reads).toBe(0);
  add('n-new');
  look();
  expect(reads).toBeGreaterThan(0);
  expect(reads).toBeLessThan(10);
});

test('a node that reports half its room teaches nothing, however often, until a second one does', () => {
  const cluster = new Cluster();
  const learnt = new LearntCapacity(cluster, { vmMemoryOverheadPercent: 0.075 });
  const status = { subnets: [], securityGroups: [], amis: [ami] };
  const nodeClass = nodeClassValue('default', { status });
  const type = plainTypeValue('a', 2_000);
  const report = (name: string, share: number, resourceVersion = '1'): number => {
    const allocatable = Object.fromEntries(
      Object.entries(type.allocatable).map(([key, amount]) => [key, amount * share]),
    );
    const labels = { 'node.kubernetes.io/instance-type': 'a' };
    const { capacity } = type;
    cluster.set('node', nodeValue(name, { labels, capacity, allocatable, resourceVersion }));
    cluster.set('claim', claimValue(name, { ...ofClass, nodeName: name }));
    learnt.look(nodeClass, typesByName(type));
    return learnt.of(nodeClass)[0]?.difference.allocatable['cpu'] ?? 0;
  };
  const half = -(type.allocatable['cpu'] ?? 0) / 2;
  expect([
    report('n1', 1),
    report('n2', 0.5),
    report('n2', 0.45, '2'),
    report('n3', 1),
    report('n4', 0.5),
    report('n4', 1, '2'),
  ]).toEqual([0, 0, 0, 0, half, 0]);
});
