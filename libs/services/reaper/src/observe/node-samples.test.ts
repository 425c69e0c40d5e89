import { claimValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { beforeEach, describe, expect, test } from 'vitest';

import { keptLabels, nodeSamples, utilization } from './node-samples.js';

let cluster: Cluster;
const daemonSet = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' };

/** The values of a metric by resource, or under `value` without one. */
const valuesOf = (name: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...(nodeSamples(cluster, () => 61_000)[name]?.() ?? [])].flatMap((sample) =>
      sample === undefined
        ? []
        : [
            [
              sample.more?.['resource_type'] ?? sample.labels?.['resource_type'] ?? 'value',
              sample.value,
            ],
          ],
    ),
  );

beforeEach(() => {
  cluster = new Cluster();
  cluster.set('node', nodeValue('a', { createdMs: 1_000, providerId: 'aws:///z/i-1' }));
  cluster.set('pod', podValue('own', { nodeName: 'a' }));
  cluster.set('pod', podValue('daemon', { nodeName: 'a', owner: daemonSet }));
  cluster.set('pod', podValue('ended', { nodeName: 'a', phase: 'Succeeded' }));
  cluster.set('pod', podValue('waiting'));
});

describe('metrics of nodes', () => {
  test.each([
    ['karpenter_nodes_allocatable', { cpu: 3.9, pods: 58 }],
    ['karpenter_nodes_system_overhead', { cpu: 0.1, pods: 0 }],
    ['karpenter_nodes_total_pod_requests', { cpu: 2, pods: 2 }],
    ['karpenter_nodes_total_daemon_requests', { cpu: 1, pods: 1 }],
    ['karpenter_nodes_current_lifetime_seconds', { value: 60 }],
    ['karpenter_cluster_state_node_count', { value: 1 }],
  ])('%s is %j', (name, values) => expect(valuesOf(name)).toEqual(values));

  test('of a cluster without nodes there are none, and the count is 0', () => {
    cluster.clear();
    expect(valuesOf('karpenter_nodes_allocatable')).toEqual({});
    expect(valuesOf('karpenter_cluster_utilization_percent')).toEqual({});
    expect(valuesOf('karpenter_cluster_state_node_count')).toEqual({ value: 0 });
  });

  test('an instance whose node has not joined counts as a node', () => {
    cluster.set('claim', claimValue('coming', { providerId: 'aws:///z/i-2' }));
    cluster.set('claim', claimValue('wanted'));
    expect(valuesOf('karpenter_cluster_state_node_count')).toEqual({ value: 2 });
  });

  test('Nodes that share the provider ID of a claim are counted', () => {
    cluster.set('claim', claimValue('c', { providerId: 'aws:///z/i-1', nodeName: 'a' }));
    expect(valuesOf('dovetail_duplicate_nodes')).toEqual({ value: 0 });
    cluster.set('node', nodeValue('b', { providerId: 'aws:///z/i-1' }));
    expect(valuesOf('dovetail_duplicate_nodes')).toEqual({ value: 2 });
  });

  test('utilization is what pods of nodes request, and other resources do not count', () => {
    cluster.set('pod', podValue('lost', { nodeName: 'gone' }));
    const [cpu, pods] = [...utilization(cluster)];
    expect(cpu?.labels).toEqual({ resource_type: 'cpu' });
    expect(cpu?.value).toBeCloseTo((100 * 2_000) / 3_900);
    expect(pods?.value).toBeCloseTo((100 * 2) / 58);
  });

  test('many nodes are looked at in several turns', () => {
    for (let at = 0; at < 1_000; at += 1) cluster.set('node', nodeValue(`n${String(at)}`));
    const samples = nodeSamples(cluster, () => 0);
    for (const name of [
      'karpenter_nodes_total_pod_requests',
      'karpenter_cluster_utilization_percent',
    ])
      expect([...(samples[name]?.() ?? [])].filter((one) => one === undefined)).toHaveLength(2);
  });

  test('labels are kept for a reading of a node, and made anew when it gets a claim', () => {
    const labelsOf = keptLabels(cluster);
    const node = nodeValue('a', { providerId: 'aws:///z/i-1' });
    const first = labelsOf(node);
    expect(first).toMatchObject({ managed: 'false' });
    expect(labelsOf(node)).toBe(first);
    cluster.set('claim', claimValue('c', { providerId: 'aws:///z/i-1' }));
    expect(labelsOf(node)).toMatchObject({ managed: 'true' });
  });
});
