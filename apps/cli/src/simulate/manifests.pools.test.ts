import { describe, expect, test } from 'vitest';

import {
  type Manifest,
  nodePool,
  pod,
  simulate,
  template,
  workload,
  zoneTerm,
} from './testing/manifests.js';

describe('pools and classes', () => {
  test('a legacy Provisioner is a pool', async () => {
    const provisioner: Manifest = {
      apiVersion: 'karpenter.sh/v1alpha5',
      kind: 'Provisioner',
      metadata: { name: 'old' },
      spec: {
        requirements: [zoneTerm('z2')],
        provider: { subnetSelector: { a: 'b' }, securityGroupSelector: { a: 'b' } },
      },
    };
    const { result } = await simulate([provisioner, pod('a', '1')]);
    expect(result.newNodes).toMatchObject([
      { nodePool: 'old', poolKind: 'Provisioner', zones: ['z2'] },
    ]);
  });
  test('limits hold, and what they leave out is explained with the limit that would do', async () => {
    const { code, result } = await simulate([
      nodePool({ limits: { cpu: '2' } }),
      pod('a', '1500m'),
      pod('b', '1500m'),
    ]);
    expect([code, result.unschedulable]).toMatchObject([
      2,
      [
        {
          reasons: [
            {
              code: 'pool-limit',
              values: { by: 'default/a' },
              remedy: 'raise the limit cpu of NodePool/default to 4',
            },
          ],
        },
      ],
    ]);
  });
  test('an EC2NodeClass decides what its nodes can hold', async () => {
    const nodeClass = (kubelet: object): Manifest => ({
      apiVersion: 'karpenter.k8s.aws/v1',
      kind: 'EC2NodeClass',
      metadata: { name: 'default' },
      spec: {
        role: 'r',
        amiSelectorTerms: [{ alias: 'al2023@latest' }],
        subnetSelectorTerms: [{ tags: { a: 'b' } }],
        securityGroupSelectorTerms: [{ tags: { a: 'b' } }],
        kubelet,
      },
    });
    const pool: Manifest = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'default' },
      spec: {
        template: {
          spec: {
            nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
            requirements: [
              { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.large'] },
            ],
          },
        },
      },
    };
    const nodes = async (kubelet: object): Promise<number> =>
      (
        await simulate(
          [
            pool,
            nodeClass(kubelet),
            workload('Deployment', { replicas: 6, template: template('100m') }),
          ],
          { catalog: 'us-east-1' },
        )
      ).result.newNodes.length;
    expect([await nodes({}), await nodes({ maxPods: 3 })]).toEqual([1, 2]);
  });
});
