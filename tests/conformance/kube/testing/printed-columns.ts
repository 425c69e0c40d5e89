import { type KubeObject } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { classRef, definitions, events, nodeClaims, nodePools, pool } from './pools.js';
import { type Context, eventually } from './suite.js';

export function printing({ world }: Context): void {
  test('kubectl applies the definitions over those that are there, and waits until they are established', async () => {
    const { kubectl } = world();
    expect(
      await kubectl(['apply', '--server-side', '--force-conflicts', '-f', definitions]),
    ).toMatchObject({
      code: 0,
      out: expect.stringContaining('nodepools.karpenter.sh serverside-applied') as unknown,
    });
    expect(
      await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=20s']),
    ).toMatchObject({ code: 0 });
  });

  test('kubectl shows the printer columns, the wide ones too', async () => {
    const { kubectl, kube } = world();
    await kube.create(nodeClaims, {
      metadata: {
        name: 'printed',
        labels: { 'karpenter.sh/nodepool': 'p', 'node.kubernetes.io/instance-type': 'm5.large' },
      },
      spec: { nodeClassRef: classRef, requirements: [] },
    });
    const { out } = await kubectl(['get', 'nodeclaims.karpenter.sh', 'printed', '-o', 'wide']);
    const [header = '', row = ''] = out.split('\n');
    expect(header.split(/\s{2,}/).map((name) => name.trim())).toEqual(
      expect.arrayContaining([
        'NAME',
        'TYPE',
        'CAPACITY',
        'ZONE',
        'NODE',
        'READY',
        'AGE',
        'IMAGEID',
        'ID',
        'NODEPOOL',
        'NODECLASS',
      ]),
    );
    expect(row).toMatch(/^printed\s+m5\.large\s/);
    await kube.delete({ resource: nodeClaims, name: 'printed' });
  });

  test('kubectl describes a pool: its fields in words, its conditions and its events', async () => {
    const { kubectl, kube } = world();
    const made = await kube.create(
      nodePools,
      pool('described', { expireAfter: '336h' }, { weight: 7, limits: { cpu: '100' } }),
    );
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Ready',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await kube.patch(
      { resource: nodePools, name: 'described' },
      { type: 'merge', body: { status: { conditions: [ready] } } },
      { subresource: 'status' },
    );
    const now = new Date().toISOString().replace(/\.\d+Z/, 'Z');
    await kube.create(events, {
      metadata: { name: 'described.1', namespace: 'default' },
      type: 'Warning',
      reason: 'NoCompatibleInstanceTypes',
      message: 'nothing fits',
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      source: { component: 'conformance' },
      involvedObject: {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        name: 'described',
        uid: made.metadata.uid,
      },
    } as KubeObject);
    const { code, out } = await kubectl(['describe', 'nodepools.karpenter.sh', 'described']);
    const words = out.split('\n').map((line) => line.trim().replace(/\s+/g, ' '));
    expect(words).toEqual(
      expect.arrayContaining([
        'Name: described',
        'Namespace:',
        'API Version: karpenter.sh/v1',
        'Kind: NodePool',
        'Weight: 7',
        'Cpu: 100',
        'Expire After: 336h',
        'Node Class Ref:',
        'Group: karpenter.k8s.aws',
        'Consolidation Policy: WhenEmptyOrUnderutilized',
        'Nodes: 10%',
        'Last Transition Time: 2026-01-01T00:00:00Z',
        'Status: True',
        'Type Reason Age From Message',
      ]),
    );
    expect(out).toMatch(
      /Warning\s+NoCompatibleInstanceTypes\s+\S+\s+conformance\s+nothing fits\n$/,
    );
    expect(code).toBe(0);
    await kube.delete({ resource: nodePools, name: 'described' });
  });

  test('get nodepools -w shows the columns of the definition, and a change', async () => {
    const { kubectl, kube } = world();
    await kube.create(nodePools, pool('watched'));
    const watching = kubectl.start(['get', 'nodepools.karpenter.sh', 'watched', '-w']);
    const seen = (pattern: RegExp): Promise<string> =>
      eventually(
        () => Promise.resolve(watching.out()),
        (out) => pattern.test(out),
      );
    try {
      expect(await seen(/watched/)).toMatch(
        /^NAME\s+NODECLASS\s+NODES\s+READY\s+AGE\nwatched\s+default\s+\d*s\n$/,
      );
      await kube.patch(
        { resource: nodePools, name: 'watched' },
        { type: 'merge', body: { status: { nodes: 3 } } },
        { subresource: 'status' },
      );
      expect(await seen(/watched\s+default\s+3/)).toMatch(/\nwatched\s+default\s+3\s+\d+s\n$/);
    } finally {
      await watching.end();
      await kube.delete({ resource: nodePools, name: 'watched' });
    }
  });
}
