import { afterEach, describe, expect, test } from '@jest/globals';
import { followDecisions, followCatalog } from '@dovetail/contracts';
import { annotations, renderPromise } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import { memoryBus } from '@dovetail/sim-bus';
import { defaultReaperConfig } from './config.js';
import { Stopper } from '@dovetail/core-ports';
import { clusterName, startMs, TestCluster } from './testing/cluster.js';
import { nodesOf, Replacements } from './testing/replacements.js';

const { nodeClaims, nodes, pods, nodePools, provisioners } = kubeResources;
let cluster: TestCluster;
const stops: (() => void)[] = [];
afterEach(() => { for (const stop of stops.splice(0)) stop(); cluster.stop(); });

async function started(disruption: object = { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s', budgets: [{ nodes: '100%' }] }): Promise<TestCluster> {
  cluster = new TestCluster();
  await cluster.start();
  await cluster.nodePool('default', disruption);
  return cluster;
}
function reap(options: Parameters<TestCluster['reaper']>[0] = {}) {
  const running = cluster.reaper(options);
  stops.push(() => running.stop.abort());
  return running;
}
function replacements(options: ConstructorParameters<typeof Replacements>[1]): Replacements {
  const made = new Replacements(cluster, options);
  stops.push(() => made.stop());
  return made;
}
/** The kinds of all decisions on the bus, in order. */
async function decisions(): Promise<readonly { readonly kind: string; readonly summary: string; readonly facts: Readonly<Record<string, string>> }[]> {
  const stop = new Stopper();
  const found = [];
  for await (const event of followDecisions({ bus: memoryBus(cluster.busServer), cluster: clusterName, hash: { sha256Hex: (text) => text } }, stop)) {
    if (event.kind === 'decision') found.push(event.decision);
    if (event.kind === 'caught-up') break;
  }
  stop.abort();
  return found;
}
const gone = (claim: string) => () => !cluster.names(nodeClaims).includes(claim);
const isDeleting = (claim: string) => cluster.find(nodeClaims, claim)?.metadata.deletionTimestamp !== undefined;
const stateOf = (id: string) => cluster.twin.instances.get(id).state;
const tainted = (name: string) => JSON.stringify(cluster.find(nodes, name)?.['spec'] ?? '').includes('karpenter.sh/disrupted');

describe('an empty node', () => {
  test('ends consolidateAfter after its last pod went: drained, terminated, finalizers dropped, all of it told', async () => {
    await started();
    const { instanceId } = await cluster.node('n1');
    cluster.scale('web', 2);
    await cluster.pass(2);
    reap();
    await cluster.pass(40);
    expect(isDeleting('claim-n1')).toBe(false);
    cluster.scale('web', 0);
    await cluster.pass(29);
    expect(isDeleting('claim-n1')).toBe(false);
    expect(await cluster.pass(20, gone('claim-n1'))).toBe(true);
    expect(cluster.names(nodes)).toEqual([]);
    expect(stateOf(instanceId)).toBe('terminated');
    expect(cluster.events('DisruptionTerminating')).toEqual(expect.arrayContaining(['Disrupting Node: Empty', 'Disrupting NodeClaim: Empty']));
    expect((await decisions()).map(({ kind }) => kind)).toEqual(['disrupt', 'drain', 'terminate']);
  });

  test('stays when a new pod comes within the time, and counts anew when that goes', async () => {
    await started();
    await cluster.node('n1');
    reap();
    await cluster.pass(25);
    cluster.scale('web', 1);
    await cluster.pass(60);
    expect([isDeleting('claim-n1'), tainted('n1')]).toEqual([false, false]);
    cluster.scale('web', 0);
    await cluster.pass(28);
    expect(isDeleting('claim-n1')).toBe(false);
    expect(await cluster.pass(20, gone('claim-n1'))).toBe(true);
  });

  test('keeps its countdown over a restart, and starts one for pods that went while nobody watched', async () => {
    await started();
    await cluster.node('n1');
    const first = reap();
    await cluster.pass(20);
    first.stop.abort();
    await cluster.pass(2);
    reap();
    expect(await cluster.pass(12, () => isDeleting('claim-n1'))).toBe(true);

    await cluster.node('n2');
    cluster.scale('web', 1);
    await cluster.pass(60);
    for (const stop of stops.splice(0)) stop();
    cluster.scale('web', 0);
    await cluster.pass(60);
    reap();
    await cluster.pass(25);
    expect(isDeleting('claim-n2')).toBe(false);
    expect(await cluster.pass(10, () => isDeleting('claim-n2'))).toBe(true);
  });

  test('of a Provisioner ends ttlSecondsAfterEmpty after its last pod went', async () => {
    await started();
    await cluster.kube.create(provisioners, { apiVersion: 'karpenter.sh/v1alpha5', kind: 'Provisioner', metadata: { name: 'default' }, spec: { requirements: [], ttlSecondsAfterEmpty: 10, providerRef: { name: 'default' } } });
    await cluster.node('n1', { poolKind: 'Provisioner' });
    reap();
    await cluster.pass(9);
    expect(isDeleting('claim-n1')).toBe(false);
    expect(await cluster.pass(5, () => isDeleting('claim-n1'))).toBe(true);
  });

  test.each([
    ['its pool says consolidateAfter: Never', { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' }, {}, undefined],
    ['its budget is zero', { consolidationPolicy: 'WhenEmpty', consolidateAfter: '5s', budgets: [{ nodes: '0' }] }, {}, 'blocking budget'],
    ['it says do-not-disrupt', { consolidationPolicy: 'WhenEmpty', consolidateAfter: '5s' }, { nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' } }, 'do-not-disrupt'],
  ])('stays while %s', async (_what, disruption, node, event) => {
    await started(disruption);
    await cluster.node('n1', node);
    reap();
    await cluster.pass(60);
    expect(isDeleting('claim-n1')).toBe(false);
    if (event !== undefined) expect(cluster.events('DisruptionBlocked').join()).toContain(event);
  });

  test('lets go again when a promise was written while it was being tainted', async () => {
    await started();
    await cluster.node('n1');
    await cluster.pod('late', 'web', { spec: { schedulingGates: [{ name: 'wait' }] } });
    const uid = cluster.find(pods, 'late')?.metadata.uid ?? '';
    // The launcher writes its promise at the very moment at which the taint is written: before the reaper looks again.
    cluster.store.state.subscribe((change) => {
      if (change.object.metadata.name !== 'n1' || !tainted('n1') || change.object.metadata.annotations?.[annotations.promise] !== undefined) return;
      queueMicrotask(() => void cluster.kube.patch({ resource: nodes, name: 'n1' }, { type: 'merge', body: { metadata: { annotations: { [annotations.promise]: renderPromise({ podUids: [uid], admission: '1.1' }) } } } }));
    });
    reap();
    await cluster.pass(60);
    expect([isDeleting('claim-n1'), tainted('n1'), cluster.find(nodes, 'n1')?.metadata.annotations?.[annotations.retirement]]).toEqual([false, false, undefined]);
    expect(cluster.events('DisruptionBlocked')).toContain('Node is nominated for a pending pod');
  });

  test('goes with others only as far as the budget allows at once', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: '5s', budgets: [{ nodes: '1' }] });
    for (const name of ['n1', 'n2', 'n3']) await cluster.node(name);
    let most = 0;
    // A node whose instance is ending already counts no more (Karpenter's rule).
    const ending = (name: string) => JSON.stringify(cluster.find(nodeClaims, `claim-${name}`)?.['status'] ?? '').includes('InstanceTerminating');
    cluster.store.state.subscribe(() => { most = Math.max(most, ['n1', 'n2', 'n3'].filter((name) => tainted(name) && !ending(name)).length); });
    reap();
    expect(await cluster.pass(120, () => cluster.names(nodeClaims).length === 0)).toBe(true);
    expect(most).toBe(1);
  });
});

describe('an expired node', () => {
  test('is replaced first, then drained within the disruption budget, and no pod is lost', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', { expireAfterMs: 60_000 });
    cluster.scale('web', 3);
    await cluster.budget('web', 2);
    const made = replacements({ afterMs: 20_000 });
    reap();
    await cluster.pass(59);
    expect(tainted('n1')).toBe(false);
    await cluster.pass(15);
    expect([tainted('n1'), isDeleting('claim-n1'), nodesOf(cluster, 'web')]).toEqual([true, false, ['n1']]);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    await cluster.pass(3);
    expect([made.made, made.requests.length, nodesOf(cluster, 'web'), cluster.broken]).toEqual([['new-1'], 1, ['new-1'], []]);
    expect(made.requests[0]).toMatchObject({ withoutNodes: ['n1'], commit: { nodeName: 'n1', reason: 'expired' } });
    expect((await decisions()).find(({ kind }) => kind === 'disrupt')).toMatchObject({ summary: 'n1 is ended: expired, 1 new nodes take its pods', facts: { cause: 'expired', pods: '3' } });
  });

  test('ends at once when the planner finds room, or when no pod needs a place', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', { expireAfterMs: 30_000 });
    cluster.scale('web', 2);
    await cluster.pass(2);
    await cluster.node('n2');
    await cluster.node('n3', { expireAfterMs: 30_000 });
    const made = replacements({ afterMs: 0, room: true });
    reap();
    expect(await cluster.pass(60, () => cluster.names(nodeClaims).join() === 'claim-n2')).toBe(true);
    await cluster.pass(5);
    expect([made.requests.length, nodesOf(cluster, 'web')]).toEqual([1, ['n2']]);
  });

  test('without a bus ends when its pods surely fit elsewhere, and waits for a solver when they do not', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', { expireAfterMs: 30_000 });
    cluster.scale('web', 3);
    await cluster.pass(2);
    await cluster.node('n2', { cpu: '2' });
    cluster.busServer.stop();
    reap();
    await cluster.pass(120);
    expect([tainted('n1'), isDeleting('claim-n1'), nodesOf(cluster, 'web')]).toEqual([true, false, ['n1']]);
    await cluster.node('n3', { cpu: '4' });
    expect(await cluster.pass(30, gone('claim-n1'))).toBe(true);
    await cluster.pass(3);
    expect(nodesOf(cluster, 'web')).not.toContain('n1');
  });
});

describe('an interruption', () => {
  const spot = async (): Promise<{ readonly instanceId: string }> => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const made = await cluster.node('n1', { capacityType: 'spot' });
    cluster.scale('web', 3);
    await cluster.pass(3);
    return made;
  };

  test('taints at once, replaces, drains and ends within the notice; the offering is avoided; the message goes', async () => {
    const { instanceId } = await spot();
    const made = replacements({ afterMs: 30_000 });
    reap();
    await cluster.pass(2);
    cluster.twin.interrupt(instanceId);
    await cluster.pass(2);
    expect([tainted('n1'), cluster.twin.queue.depth()]).toMatchObject([true, { visible: 0, hidden: 0 }]);
    const noticedMs = cluster.clock.nowMs();
    expect(await cluster.pass(100, gone('claim-n1'))).toBe(true);
    await cluster.pass(3);
    expect(cluster.clock.nowMs() - noticedMs).toBeLessThan(60_000);
    expect([made.made, nodesOf(cluster, 'web')]).toEqual([['new-1'], ['new-1']]);
    expect([cluster.events('SpotInterrupted').length, cluster.events('TerminatingOnInterruption').length]).toEqual([2, 2]);
    expect((await decisions()).map(({ kind }) => kind)).toEqual(['interrupt', 'disrupt', 'drain', 'terminate']);
    const stop = new Stopper();
    for await (const event of followCatalog({ bus: memoryBus(cluster.busServer), cluster: clusterName }, stop)) {
      expect(event).toMatchObject({ kind: 'unavailable', offering: { instanceType: 'm5.large', capacityType: 'spot', awsCode: 'SpotInterruption' } });
      if (event.kind === 'unavailable') expect(event.offering.untilMs - noticedMs).toBeGreaterThan(170_000);
      break;
    }
    stop.abort();
  });

  test('without a bus drains halfway through the notice, and forces what a budget holds before it is over', async () => {
    const { instanceId } = await spot();
    await cluster.budget('web', 3);
    cluster.busServer.stop();
    reap();
    await cluster.pass(2);
    cluster.twin.interrupt(instanceId);
    await cluster.pass(55);
    expect([tainted('n1'), isDeleting('claim-n1')]).toEqual([true, false]);
    await cluster.pass(10);
    expect([isDeleting('claim-n1'), nodesOf(cluster, 'web')]).toEqual([true, ['n1']]);
    expect(cluster.events('FailedDraining').join()).toContain('refused');
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    expect(cluster.clock.nowMs()).toBeLessThan(startMs + 130_000);
  });

  test('is dealt with although AWS does not say which account this is: EC2 shows the instance as ours', async () => {
    const { instanceId } = await spot();
    cluster.twin.gate.fail({ action: 'sts:GetCallerIdentity', code: 'AccessDenied', times: 1_000 });
    reap();
    await cluster.pass(2);
    cluster.twin.interrupt(instanceId);
    await cluster.pass(2);
    expect(tainted('n1')).toBe(true);
  });

  test.each([
    // There is no time to replace what is going already: its pods are pending, and planned as any others.
    ['a stopping instance', 'InstanceStopping', (id: string) => ({ kind: 'state-change', instanceId: id, state: 'stopping' }) as const, 'none'],
    ['a capacity reservation that ends', 'CapacityReservationInstanceInterrupted', (id: string) => ({ kind: 'capacity-reservation-interruption', instanceId: id }) as const, 'new-1'],
    ['announced maintenance', 'InstanceUnhealthy', (id: string) => ({ kind: 'scheduled-change', instanceIds: [id] }) as const, 'new-1'],
  ])('%s retires the node', async (_what, event, notice, target) => {
    const { instanceId } = await spot();
    replacements({ afterMs: 5_000 });
    reap();
    await cluster.pass(2);
    cluster.twin.notify(notice(instanceId));
    expect(await cluster.pass(90, gone('claim-n1'))).toBe(true);
    expect(cluster.events(event).length).toBeGreaterThan(0);
    await cluster.pass(10);
    expect(nodesOf(cluster, 'web')).toEqual([target]);
  });

  test('a rebalance recommendation is an event and nothing else', async () => {
    const { instanceId } = await spot();
    reap();
    await cluster.pass(2);
    cluster.twin.notify({ kind: 'rebalance', instanceId });
    await cluster.pass(30);
    expect([tainted('n1'), cluster.events('SpotRebalanceRecommendation').length, cluster.twin.queue.depth().hidden]).toEqual([false, 2, 0]);
  });

  test.each([
    ['of another account', (body: string) => body.replaceAll(/"account":"[0-9]+"/g, '"account":"999999999999"')],
    ['of another region', (body: string) => body.replaceAll('"region":"us-west-2"', '"region":"eu-west-1"')],
    ['of an unknown kind', (body: string) => body.replaceAll('Interruption Warning', 'Something New')],
    ['that is no event at all', () => 'hello'],
    ['about an instance that nobody knows', (body: string) => body.replaceAll(/i-[0-9a-f]{17}/g, 'i-0123456789abcdef0')],
  ])('a message %s is dropped and ends nothing', async (_what, change) => {
    const { instanceId } = await spot();
    reap();
    await cluster.pass(2);
    cluster.twin.queue.send(change(spotNotice(instanceId)));
    await cluster.pass(30);
    expect([tainted('n1'), cluster.twin.queue.depth()]).toMatchObject([false, { visible: 0, hidden: 0 }]);
  });

  test('a message about an instance of ours that carries no cluster tag of ours ends nothing', async () => {
    const { instanceId } = await spot();
    cluster.twin.tag([instanceId], { 'dovetail.sh/cluster-uid': 'another' });
    reap();
    await cluster.pass(2);
    cluster.twin.queue.send(spotNotice(instanceId));
    await cluster.pass(30);
    expect(tainted('n1')).toBe(false);
  });

  const spotNotice = (instanceId: string): string => JSON.stringify({
    version: '0', id: 'one', 'detail-type': 'EC2 Spot Instance Interruption Warning', source: 'aws.ec2', account: cluster.twin.world.accountId, region: 'us-west-2',
    time: new Date(cluster.clock.nowMs()).toISOString(), resources: [], detail: { 'instance-id': instanceId, 'instance-action': 'terminate' },
  });
});

describe('deleted by hand', () => {
  const busy = async (): Promise<{ readonly instanceId: string }> => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const made = await cluster.node('n1');
    cluster.scale('web', 2);
    await cluster.pass(3);
    await cluster.budget('web', 1);
    await cluster.pass(1);
    return made;
  };

  test.each([
    ['kubectl delete nodeclaim', () => cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' })],
    ['kubectl delete node', () => cluster.kube.delete({ resource: nodes, name: 'n1' })],
    ['kubectl delete nodepool', () => cluster.kube.delete({ resource: nodePools, name: 'default' })],
    ['kubectl delete nodepool --cascade=foreground', () => cluster.kube.delete({ resource: nodePools, name: 'default' }, { propagation: 'Foreground' })],
  ])('%s ends the node gracefully', async (_what, act) => {
    const { instanceId } = await busy();
    await cluster.nodePool('other', { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    reap();
    await cluster.pass(2);
    await act();
    await cluster.pass(2);
    expect([tainted('n1'), cluster.find(nodes, 'n1')?.metadata.labels?.['node.kubernetes.io/exclude-from-external-load-balancers']]).toEqual([true, 'karpenter']);
    await cluster.node('n2', { pool: 'other' });
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    expect([cluster.find(nodes, 'n1'), stateOf(instanceId), cluster.broken]).toEqual([undefined, 'terminated', []]);
  });

  test('shows its progress in the conditions of its claim', async () => {
    await busy();
    const seen = new Set<string>();
    cluster.store.state.subscribe(({ object }) => {
      if (object.metadata.name !== 'claim-n1') return;
      for (const { type, status, reason } of (object['status'] as { conditions?: { type: string; status: string; reason: string }[] } | undefined)?.conditions ?? []) seen.add(`${type}=${status}/${reason}`);
    });
    reap();
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.node('n2');
    await cluster.pass(60, gone('claim-n1'));
    expect([...seen].slice(4)).toEqual(['Drained=Unknown/Draining', 'Drained=True/Drained', 'VolumesDetached=True/VolumesDetached', 'InstanceTerminating=True/InstanceTerminating', 'InstanceTerminating=True/InstanceTerminated']);
  });

  test('deleting a pool with --cascade=orphan leaves its nodes', async () => {
    await busy();
    reap();
    await cluster.pass(2);
    await cluster.kube.patch({ resource: nodeClaims, name: 'claim-n1' }, { type: 'merge', body: { metadata: { ownerReferences: [] } } });
    await cluster.kube.delete({ resource: nodePools, name: 'default' }, { propagation: 'Orphan' });
    await cluster.pass(30);
    expect(isDeleting('claim-n1')).toBe(false);
  });

  test('a pod that says do-not-disrupt holds the node until its terminationGracePeriod is over', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    await cluster.node('n1', { terminationGracePeriodMs: 60_000 });
    await cluster.pod('stubborn', 'stubborn', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } });
    await cluster.pass(2);
    reap();
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.pass(50);
    expect([cluster.names(pods), isDeleting('claim-n1')]).toEqual([['stubborn'], true]);
    expect(cluster.events('FailedDraining').join()).toContain('do-not-disrupt');
    expect(await cluster.pass(30, gone('claim-n1'))).toBe(true);
    expect(cluster.events('TerminationGracePeriodExpiring').length).toBeGreaterThan(0);
  });

  test('a volume that is still attached is waited for', async () => {
    const { instanceId } = await busy();
    await cluster.kube.create(kubeResources.volumeAttachments, { metadata: { name: 'va-1' }, spec: { attacher: 'ebs.csi.aws.com', nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } } });
    reap();
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.node('n2');
    await cluster.pass(40);
    expect([stateOf(instanceId), cluster.events('AwaitingVolumeDetachment').length]).toEqual(['running', 1]);
    await cluster.kube.delete({ resource: kubeResources.volumeAttachments, name: 'va-1' });
    expect(await cluster.pass(15, gone('claim-n1'))).toBe(true);
  });
});

test('deleting a Provisioner ends its nodes, and leaves those of a NodePool of the same name', async () => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  await cluster.kube.create(provisioners, { apiVersion: 'karpenter.sh/v1alpha5', kind: 'Provisioner', metadata: { name: 'default' }, spec: { requirements: [], providerRef: { name: 'default' } } });
  await cluster.node('n1', { poolKind: 'Provisioner' });
  await cluster.node('n2');
  reap();
  await cluster.pass(3);
  await cluster.kube.delete({ resource: provisioners, name: 'default' });
  expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
  expect([cluster.names(nodes), cluster.runningInstances().length]).toEqual([['n2'], 1]);
});

test('a claim that has no node yet says so in an Event', async () => {
  await started();
  await cluster.node('n1');
  await cluster.kube.patch({ resource: nodeClaims, name: 'claim-n1' }, { type: 'merge', body: { status: { providerID: 'aws:///us-west-2a/i-0aaaaaaaaaaaaaaaa', nodeName: null } } }, { subresource: 'status' });
  reap();
  await cluster.pass(3);
  expect(cluster.events('DisruptionBlocked')).toContain('Nodeclaim does not have an associated node');
});

describe('collection', () => {
  test('ends an instance that belongs to no claim, after its time and never before', async () => {
    await started();
    const stray = await cluster.strayInstance();
    const { instanceId } = await cluster.node('n1', { nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' } });
    reap();
    await cluster.pass(25);
    expect(stateOf(stray)).toBe('running');
    expect(await cluster.pass(30, () => stateOf(stray) === 'terminated')).toBe(true);
    expect(stateOf(instanceId)).toBe('running');
    expect((await decisions()).map(({ kind }) => kind)).toEqual(['collect']);
  });

  test('ends a claim whose instance vanished, and its node', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1');
    cluster.scale('web', 1);
    reap();
    await cluster.pass(130);
    await cluster.cloud.terminate([instanceId]);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    expect(cluster.names(nodes)).toEqual([]);
  });

  test('leaves the instance of a claim that cannot be read, and goes on with the rest', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1');
    await cluster.kube.patch({ resource: nodeClaims, name: 'claim-n1' }, { type: 'merge', body: { metadata: { labels: { 'karpenter.sh/nodepool': null } } } });
    const stray = await cluster.strayInstance();
    reap();
    expect(await cluster.pass(60, () => stateOf(stray) === 'terminated')).toBe(true);
    expect(stateOf(instanceId)).toBe('running');
  });

  test('stops loudly instead of ending much of the fleet', async () => {
    await started();
    const strays = [];
    for (let index = 0; index < 4; index += 1) strays.push(await cluster.strayInstance());
    reap();
    await cluster.pass(120);
    expect(strays.map(stateOf)).toEqual(['running', 'running', 'running', 'running']);
    expect(cluster.logs.filter(({ name }) => name === 'collection-brake').length).toBeGreaterThan(0);
    expect(cluster.metrics.get('dovetail_collection_stopped{"brake":"collection-brake"}')).toBe(1);
  });

  test('touches nothing when the tags name another cluster', async () => {
    await started();
    const stray = await cluster.strayInstance();
    await cluster.pass(1);
    cluster.twin.tag([stray], { 'dovetail.sh/cluster-uid': 'another' });
    reap();
    await cluster.pass(120);
    expect([stateOf(stray), cluster.logs.some(({ name }) => name === 'cluster-mismatch')]).toEqual(['running', true]);
  });
});

test('a taint that somebody else left over is taken away', async () => {
  await started();
  await cluster.node('n1');
  await cluster.kube.patch({ resource: nodes, name: 'n1' }, { type: 'merge', body: { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } } });
  reap();
  await cluster.pass(3);
  expect(tainted('n1')).toBe(false);
});

test('terminations are capped per minute', async () => {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: '0s', budgets: [{ nodes: '100%' }] });
  for (const name of ['n1', 'n2', 'n3']) await cluster.node(name);
  reap({ config: { termination: { ...defaultReaperConfig.termination, terminationsPerMinute: 2 } } });
  await cluster.pass(40);
  expect(cluster.runningInstances()).toHaveLength(1);
  expect(await cluster.pass(60, () => cluster.runningInstances().length === 0)).toBe(true);
});

test('the state that it shows names what it does', async () => {
  await started();
  await cluster.node('n1', { nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' } });
  const { reaper } = reap();
  await cluster.pass(5);
  expect(reaper.ready()).toEqual({ watches: true });
  expect(reaper.debugState()).toMatchObject({ leads: true, claims: 1, nodes: 1, unsynced: [], ending: [], retiring: [] });
});
