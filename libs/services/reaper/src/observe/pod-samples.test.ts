import { Cluster } from '@dovetail/core-cluster';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { describe, expect, test } from 'vitest';

import { podLabels, podSamples } from './pod-samples.js';

const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'r' };
const node = nodeValue('a', {
  labels: {
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/capacity-type': 'spot',
    'kubernetes.io/arch': 'amd64',
    'node.kubernetes.io/instance-type': 'c5.large',
    'topology.kubernetes.io/zone': 'us-west-2a',
  },
});

describe('metrics of pods', () => {
  test('a running pod has the labels of its node', () =>
    expect(
      podLabels(podValue('p', { nodeName: 'a', phase: 'Running', ready: true, owner }), node),
    ).toEqual({
      name: 'p',
      namespace: 'default',
      owner: '/apis/apps/v1/namespaces/default/replicasets/web-1',
      node: 'a',
      scheduled: 'true',
      nodepool: 'default',
      zone: 'us-west-2a',
      arch: 'amd64',
      capacity_type: 'spot',
      instance_type: 'c5.large',
      phase: 'Running',
      ready: 'true',
      managed: 'true',
    }));

  test('a pod without a node, or whose node is not known, is not managed', () => {
    expect(podLabels(podValue('p'), undefined)).toMatchObject({
      owner: '',
      node: '',
      scheduled: 'false',
      managed: 'false',
    });
    expect(podLabels(podValue('p', { nodeName: 'gone' }), undefined)).toMatchObject({
      node: 'gone',
      scheduled: 'true',
      managed: 'false',
    });
  });

  test('pods that are bound to no node, and those that have not started, show their age', () => {
    const cluster = new Cluster();
    cluster.set('pod', podValue('waits', { createdMs: 1_000, resourceClaims: ['gpu'] }));
    cluster.set('pod', podValue('starts', { createdMs: 2_000, nodeName: 'a' }));
    const samples = podSamples(cluster, new Set(['waits', 'starts', 'gone']), () => 3_000);
    expect([...(samples['karpenter_pods_unbound_time_seconds']?.() ?? [])]).toEqual([
      { value: 2, labels: { name: 'waits', namespace: 'default', dynamic_resources: 'true' } },
    ]);
    expect([...(samples['karpenter_pods_unstarted_time_seconds']?.() ?? [])]).toEqual([
      { value: 2, labels: { name: 'waits', namespace: 'default' } },
      { value: 1, labels: { name: 'starts', namespace: 'default' } },
    ]);
    expect([...(samples['karpenter_pods_state']?.() ?? [])]).toHaveLength(2);
  });
});
