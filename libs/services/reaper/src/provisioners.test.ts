import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  gone,
  isDeleting,
  reap,
  replacements,
  started,
  tainted,
} from './testing/current-cluster.js';

const { nodeClaims, nodePools, nodes, provisioners } = kubeResources;
const deleting = { config: { consolidation: 'delete' } } as const;

/** Two pods fill `n1` of a Provisioner, and `n2` has room for them. `n2` itself stays. */
async function twoNodes(spec: object): Promise<void> {
  await started();
  await cluster.kube.create(provisioners, {
    apiVersion: 'karpenter.sh/v1alpha5',
    kind: 'Provisioner',
    metadata: { name: 'default' },
    spec: { requirements: [], providerRef: { name: 'default' }, ...spec },
  });
  await cluster.node('n1', { cpu: '2', poolKind: 'Provisioner' });
  await cluster.scale('web', 2);
  await cluster.pass(2);
  const nodeAnnotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  await cluster.node('n2', { cpu: '8', poolKind: 'Provisioner', nodeAnnotations });
}

describe('an under-used node of a Provisioner', () => {
  test('whose consolidation is enabled is given up', async () => {
    await twoNodes({ consolidation: { enabled: true } });
    replacements({ afterMs: 0, room: true });
    reap(deleting);
    expect(await cluster.pass(120, gone('claim-n1'))).toBe(true);
    expect(cluster.names(nodes)).toEqual(['n2']);
    expect(cluster.workloads.nodesOf('web')).toEqual(['n2']);
  });

  test.each([
    ['is switched off', { consolidation: { enabled: false } }],
    ['is not mentioned', {}],
    ['gives way to ttlSecondsAfterEmpty', { ttlSecondsAfterEmpty: 10 }],
  ])('whose consolidation %s stays', async (_what, spec) => {
    await twoNodes(spec);
    const solver = replacements({ afterMs: 0, room: true });
    reap(deleting);
    await cluster.pass(120);
    expect([isDeleting('claim-n1'), tainted('n1'), solver.requests.length]).toEqual([
      false,
      false,
      0,
    ]);
  });
});

test('a pool and a claim that cannot be read keep no empty node of another pool', async () => {
  await started();
  const instead = { 'dovetail.sh/max-price-per-hour': 'cheap' };
  await cluster.nodePool('broken', {});
  await cluster.kube.patch(
    { resource: nodePools, name: 'broken' },
    { type: 'merge', body: { metadata: { annotations: instead } } },
  );
  await cluster.node('unreadable');
  await cluster.kube.patch(
    { resource: nodeClaims, name: 'claim-unreadable' },
    { type: 'merge', body: { metadata: { annotations: { 'dovetail.sh/planned': 'yesterday' } } } },
  );
  await cluster.node('empty');
  reap();
  expect(await cluster.pass(180, gone('claim-empty'))).toBe(true);
  expect([isDeleting('claim-unreadable'), tainted('unreadable')]).toEqual([false, false]);
  expect(cluster.said('object-unreadable').length).toBeGreaterThan(0);
});
