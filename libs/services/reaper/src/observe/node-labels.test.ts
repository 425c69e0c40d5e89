import { nodeValue } from '@dovetail/core-kube-model/testing';
import { expect, test } from 'vitest';

import { nodeLabels } from './metrics.js';
import { metricLabelsOf } from './node-labels.js';

test('the labels of a node are named as Karpenter names them, and empty ones are left out', () =>
  expect(
    metricLabelsOf(
      nodeValue('a', {
        labels: {
          'kubernetes.io/arch': 'arm64',
          'karpenter.k8s.aws/instance-gpu-name': '',
          'topology.k8s.aws/zone-id': 'usw2-az1',
          'karpenter.k8s.aws/instance-ebs-bandwidth': '4750',
          own: 'label',
        },
      }),
      true,
    ),
  ).toEqual({
    node_name: 'a',
    managed: 'true',
    arch: 'arm64',
    zone_id: 'usw2-az1',
    instance_ebs_bandwidth: '4750',
  }));

test("every label of the tables but Karpenter's phase is one that a node can have", () => {
  const everything = Object.fromEntries(
    ['karpenter.k8s.aws', 'karpenter.sh', 'kubernetes.io', 'node.kubernetes.io'].flatMap((group) =>
      nodeLabels.map((label) => [`${group}/${label.replaceAll('_', '-')}`, 'x']),
    ),
  );
  const topology = Object.fromEntries(
    [
      'topology.kubernetes.io/zone',
      'topology.kubernetes.io/region',
      'topology.k8s.aws/zone-id',
    ].map((key) => [key, 'x']),
  );
  const node = nodeValue('a', { labels: { ...everything, ...topology } });
  expect(Object.keys(metricLabelsOf(node, false)).toSorted()).toEqual(
    nodeLabels.filter((label) => label !== 'phase'),
  );
});
