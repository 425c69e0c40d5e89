import { type KubeApi, kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import type { ReaperDeps } from './deps.js';
import {
  cluster,
  gone,
  isDeleting,
  reap,
  replacements,
  started,
  stateOf,
  tainted,
} from './testing/current-cluster.js';

const { nodeClaims, nodes, pods, nodePools } = kubeResources;

describe('deleted by hand', () => {
  const busy = async (): Promise<{ readonly instanceId: string }> => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const made = await cluster.node('n1');
    await cluster.scale('web', 2);
    await cluster.pass(3);
    await cluster.budget('web', 1);
    await cluster.pass(1);
    return made;
  };

  test.each([
    [
      'kubectl delete nodeclaim',
      () => cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' }),
    ],
    ['kubectl delete node', () => cluster.kube.delete({ resource: nodes, name: 'n1' })],
    [
      'kubectl delete nodepool',
      () => cluster.kube.delete({ resource: nodePools, name: 'default' }),
    ],
    [
      'kubectl delete nodepool --cascade=foreground',
      () =>
        cluster.kube.delete(
          { resource: nodePools, name: 'default' },
          { propagation: 'Foreground' },
        ),
    ],
  ])('%s ends the node gracefully', async (_what, act) => {
    const { instanceId } = await busy();
    await cluster.nodePool('other', {
      consolidationPolicy: 'WhenEmpty',
      consolidateAfter: 'Never',
    });
    reap();
    await cluster.pass(2);
    await act();
    await cluster.pass(2);
    expect([
      tainted('n1'),
      cluster.find(nodes, 'n1')?.metadata.labels?.[
        'node.kubernetes.io/exclude-from-external-load-balancers'
      ],
    ]).toEqual([true, 'karpenter']);
    await cluster.node('n2', { pool: 'other' });
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    expect([cluster.find(nodes, 'n1'), stateOf(instanceId), cluster.broken]).toEqual([
      undefined,
      'terminated',
      [],
    ]);
  });

  test('no room is asked for a pod that stays on its node', async () => {
    await busy();
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
    const kept = await cluster.pod('p', 'solo', { annotations, spec: { nodeName: 'n1' } });
    const solver = replacements({ afterMs: 1_000 });
    reap();
    await cluster.pass(2);
    await cluster.kube.delete({ resource: nodes, name: 'n1' });
    expect(await cluster.pass(20, () => solver.requests.length > 0, 1_000)).toBe(true);
    expect(solver.requests[0]?.podUids).toHaveLength(2);
    expect(solver.requests[0]?.podUids).not.toContain(kept.metadata.uid);
  });

  const evicted = () =>
    cluster.list(pods).filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length;

  test.each<[string, (podUids: readonly string[]) => readonly string[], number]>([
    ['evicts its pods once they are promised room', (podUids) => podUids, 2_500],
    ['evicts its pods after five seconds without such a promise', () => [], 5_500],
  ])('is replaced beside the drain, and %s', async (_what, admits, byMs) => {
    await busy();
    const made = replacements({ afterMs: 500, thinkMs: 1_000, admits });
    reap();
    await cluster.pass(2);
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.pass(byMs / 1_000 - 1.5, undefined, 250);
    expect([evicted(), made.requests.length]).toEqual([0, 1]);
    await cluster.pass(1.75, undefined, 250);
    expect(evicted()).toBeGreaterThan(0);
    expect(made.requests[0]).toMatchObject({
      withoutNodes: ['n1'],
      commit: { nodeName: 'n1', reason: 'deleted' },
    });
    await cluster.pass(60, gone('claim-n1'));
    expect(made.requests.length).toBe(1);
  });

  test('shows its progress in the conditions of its claim', async () => {
    await busy();
    const seen = new Set<string>();
    cluster.store.state.subscribe(({ object }) => {
      if (object.metadata.name !== 'claim-n1') return;
      for (const { type, status, reason } of (
        object['status'] as
          { conditions?: { type: string; status: string; reason: string }[] } | undefined
      )?.conditions ?? [])
        seen.add(`${type}=${status}/${reason}`);
    });
    reap();
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.node('n2');
    await cluster.pass(60, gone('claim-n1'));
    expect([...seen].slice(4)).toEqual([
      'Drained=Unknown/Draining',
      'Drained=True/Drained',
      'VolumesDetached=True/VolumesDetached',
      'InstanceTerminating=True/InstanceTerminating',
      'InstanceTerminating=True/InstanceTerminated',
    ]);
  });

  test('waits for a pod that takes long to end, also with a clock ahead of the API server', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1');
    await cluster.pod('slow', 'db', {
      annotations: { 'pod-delete.stage.kwok.x-k8s.io/delay': '20s' },
      spec: { terminationGracePeriodSeconds: 30 },
    });
    await cluster.pass(2);
    reap({ clock: { ...cluster.clock, nowMs: () => cluster.clock.nowMs() + 120_000 } });
    await cluster.pass(2);
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.pass(15);
    expect([cluster.names(pods), stateOf(instanceId)]).toEqual([['slow'], 'running']);
    expect(await cluster.pass(30, gone('claim-n1'))).toBe(true);
  });

  test('deleting a pool with --cascade=orphan leaves its nodes', async () => {
    await busy();
    reap();
    await cluster.pass(2);
    await cluster.kube.patch(
      { resource: nodeClaims, name: 'claim-n1' },
      { type: 'merge', body: { metadata: { ownerReferences: [] } } },
    );
    await cluster.kube.delete({ resource: nodePools, name: 'default' }, { propagation: 'Orphan' });
    await cluster.pass(30);
    expect(isDeleting('claim-n1')).toBe(false);
  });

  test('a pod that says do-not-disrupt holds the node until its terminationGracePeriod is over', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', { terminationGracePeriodMs: 60_000 });
    await cluster.pod('stubborn', 'stubborn', {
      annotations: { 'karpenter.sh/do-not-disrupt': 'true' },
    });
    await cluster.pass(2);
    reap();
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.pass(50);
    expect([cluster.names(pods), isDeleting('claim-n1')]).toEqual([['stubborn'], true]);
    expect(cluster.events('FailedDraining').join()).toContain('do-not-disrupt');
    expect(await cluster.pass(30, gone('claim-n1'))).toBe(true);
    const told = cluster.events('TerminationGracePeriodExpiring');
    expect([told.length > 0, new Set(told).size]).toEqual([true, 1]);
  });

  test('a volume that is still attached is waited for', async () => {
    const { instanceId } = await busy();
    await cluster.kube.create(kubeResources.volumeAttachments, {
      metadata: { name: 'va-1' },
      spec: {
        attacher: 'ebs.csi.aws.com',
        nodeName: 'n1',
        source: { persistentVolumeName: 'pv-1' },
      },
    });
    reap();
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.node('n2');
    await cluster.pass(40);
    expect([stateOf(instanceId), cluster.events('AwaitingVolumeDetachment').length]).toEqual([
      'running',
      1,
    ]);
    await cluster.kube.delete({ resource: kubeResources.volumeAttachments, name: 'va-1' });
    expect(await cluster.pass(15, gone('claim-n1'))).toBe(true);
  });
});

describe('ending a node', () => {
  const attachment = {
    metadata: { name: 'va-1' },
    spec: { attacher: 'ebs.csi.aws.com', nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
  };

  test('ends an instance that EC2 does not show and whose node is silent', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1');
    await cluster.pass(1);
    reap({ cloud: { ...cluster.cloud, instancesById: () => Promise.resolve([]) } });
    await cluster.kube.patch(
      { resource: nodes, name: 'n1' },
      { type: 'merge', body: { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } } },
      { subresource: 'status' },
    );
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.pass(30);
    expect(stateOf(instanceId)).toBe('terminated');
    // EC2 may hide what is new, so the claim stays until its instance is a minute old.
    expect(gone('claim-n1')()).toBe(false);
    expect(await cluster.pass(40, gone('claim-n1'))).toBe(true);
  });

  test('ends a claim that lost the label of its pool', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1');
    await cluster.kube.patch(
      { resource: nodeClaims, name: 'claim-n1' },
      { type: 'merge', body: { metadata: { labels: { 'karpenter.sh/nodepool': null } } } },
    );
    reap();
    await cluster.pass(2);
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    expect([stateOf(instanceId), cluster.names(nodes)]).toEqual(['terminated', []]);
  });

  test('waits for a volume that the watch does not show', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1');
    await cluster.pass(1);
    async function* silent<T extends { readonly kind: string }>(
      events: AsyncIterable<T>,
    ): AsyncGenerator<T> {
      for await (const event of events) if (event.kind === 'synced') yield event;
    }
    const watch: KubeApi['watch'] = (watched, stop) =>
      watched.resource.plural === 'volumeattachments'
        ? silent(cluster.kube.watch(watched, stop))
        : cluster.kube.watch(watched, stop);
    reap({ kube: { ...cluster.kube, watch } });
    await cluster.pass(2);
    await cluster.kube.create(kubeResources.volumeAttachments, attachment);
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.pass(30);
    expect(stateOf(instanceId)).toBe('running');
    await cluster.kube.delete({ resource: kubeResources.volumeAttachments, name: 'va-1' });
    expect(await cluster.pass(15, gone('claim-n1'))).toBe(true);
  });

  test.each<[string, () => Promise<unknown>]>([
    [
      'a drain that a budget blocks',
      async () => {
        await cluster.scale('web', 3);
        await cluster.pass(3);
        await cluster.budget('web', 3);
      },
    ],
    ['a volume', () => cluster.kube.create(kubeResources.volumeAttachments, attachment)],
    [
      'an instance that takes its time',
      async () => {
        const { cloud } = cluster;
        slowly = {
          ...cloud,
          instancesById: async (ids) =>
            (await cloud.instancesById(ids)).map((one) => ({ ...one, state: 'shutting-down' })),
        };
      },
    ],
  ])('reads nothing from the API server while it waits for %s', async (_what, blocks) => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1');
    slowly = undefined;
    await blocks();
    const reads = counted(cluster.kube);
    reap({ kube: reads.kube, ...(slowly === undefined ? {} : { cloud: slowly }) });
    await cluster.pass(2);
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.pass(15);
    reads.calls.length = 0;
    await cluster.pass(60);
    expect(isDeleting('claim-n1')).toBe(true);
    // Collection lists the claims every ten seconds at first; its reads are not this node's.
    expect(reads.calls.filter((call) => !collecting.has(call))).toEqual([]);
  });
  let slowly: ReaperDeps['cloud'] | undefined;
  const collecting = new Set(['get namespaces', 'list nodeclaims']);

  /** The API with the names of its reads. */
  const counted = (kube: KubeApi): { readonly kube: KubeApi; readonly calls: string[] } => {
    const calls: string[] = [];
    const get: KubeApi['get'] = (ref) => {
      calls.push(`get ${ref.resource.plural}`);
      return kube.get(ref);
    };
    const list: KubeApi['list'] = (resource, options) => {
      calls.push(`list ${resource.plural}`);
      return kube.list(resource, options);
    };
    return { kube: { ...kube, get, list }, calls };
  };
});
