import { CloudError, type KubeApi, kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  decisions,
  gone,
  isDeleting,
  reap,
  started,
  stateOf,
} from './testing/current-cluster.js';

const { nodeClaims, nodes } = kubeResources;
const moved = 'pods_disruption_initiated_total';
/** The count of one of Karpenter's metrics of claims that are collected. */
const collected = (metric: string): number | undefined =>
  cluster.metrics.value(`karpenter_${metric}`, { reason: 'garbage_collected' });

describe('collection', () => {
  test('ends an instance that belongs to no claim, after its time and never before', async () => {
    await started();
    const stray = await cluster.strayInstance();
    const { instanceId } = await cluster.node('n1', {
      nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' },
    });
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
    await cluster.scale('web', 1);
    reap();
    await cluster.pass(130);
    await cluster.cloud.terminate([instanceId]);
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
    expect(cluster.names(nodes)).toEqual([]);
  });

  test('counts the claim that it ends, and the pods on its node', async () => {
    await started(never);
    const { instanceId } = await cluster.node('n1');
    await cluster.scale('web', 1);
    const receive: typeof cluster.cloud.receive = async (stop) => {
      await cluster.clock.sleep(20_000, stop);
      return [];
    };
    reap({ queue: { ...cluster.cloud, receive } });
    await cluster.pass(130);
    await cluster.cloud.terminate([instanceId]);
    await cluster.ready('n1', false);
    expect(await cluster.pass(600, gone('claim-n1'), 2_000)).toBe(true);
    expect([collected('nodeclaims_disrupted_total'), collected(moved)]).toEqual([1, 1]);
  });

  test('goes on with the others when the end of one instance is denied', async () => {
    await started();
    const strays = [await cluster.strayInstance(), await cluster.strayInstance()];
    const [denied = '', other = ''] = strays.toSorted();
    const terminate: typeof cluster.cloud.terminate = (ids) =>
      ids.includes(denied)
        ? Promise.reject(new CloudError('denied', 'not ours', 'UnauthorizedOperation'))
        : cluster.cloud.terminate(ids);
    reap({ cloud: { ...cluster.cloud, terminate } });
    expect(await cluster.pass(120, () => stateOf(other) === 'terminated')).toBe(true);
    expect(stateOf(denied)).toBe('running');
  });

  const never = { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' };

  test('leaves a claim whose instance lost our tags, however long its node is silent', async () => {
    await started(never);
    const { instanceId } = await cluster.node('n1');
    await cluster.node('n2');
    await cluster.pass(1);
    cluster.twin.tag([instanceId], { 'eks:eks-cluster-name': '', 'dovetail.sh/cluster-uid': '' });
    reap();
    await cluster.pass(130);
    await cluster.ready('n1', false);
    await cluster.pass(300);
    expect([stateOf(instanceId), isDeleting('claim-n1')]).toEqual(['running', false]);
  });

  test('ends nothing on an empty answer of EC2 while nodes are silent, and says so', async () => {
    await started(never);
    const names = ['n1', 'n2', 'n3'];
    const made = [];
    for (const name of names) made.push(await cluster.node(name));
    await cluster.pass(125);
    const none = () => Promise.resolve([]);
    reap({ cloud: { ...cluster.cloud, instancesByTag: none, instancesById: none } });
    for (const name of names) await cluster.ready(name, false);
    await cluster.pass(300);
    expect(made.map(({ instanceId }) => stateOf(instanceId))).toEqual(names.map(() => 'running'));
    expect(
      cluster.metrics.value('dovetail_collection_stopped', { brake: 'collection-brake' }),
    ).toBe(1);
  });

  test('keeps a node whose claim came while the pass was at work', async () => {
    await started(never);
    await cluster.node('n0');
    const { instanceId } = await cluster.node('n1');
    let lists = 0;
    const list: KubeApi['list'] = async (resource, options) => {
      const all = await cluster.kube.list(resource, options);
      lists += resource === nodeClaims ? 1 : 0;
      const isEarly = resource === nodeClaims && lists === 1;
      return isEarly ? all.filter(({ metadata }) => metadata.name !== 'claim-n1') : all;
    };
    const { cloud } = cluster;
    const known = <T extends { readonly id: string }>(found: readonly T[]) =>
      found.filter(({ id }) => id !== instanceId);
    reap({
      kube: { ...cluster.kube, list },
      cloud: {
        ...cloud,
        instancesByTag: async (filters) => known(await cloud.instancesByTag(filters)),
        instancesById: async (ids) => known(await cloud.instancesById(ids)),
      },
    });
    await cluster.pass(9);
    await cluster.ready('n1', false);
    await cluster.pass(6);
    expect([lists, cluster.names(nodes)]).toEqual([2, ['n0', 'n1']]);
  });

  test('lists the claims once in a pass in which no node is over', async () => {
    await started(never);
    await cluster.node('n1');
    let lists = 0;
    const list: KubeApi['list'] = (resource, options) => {
      lists += resource === nodeClaims ? 1 : 0;
      return cluster.kube.list(resource, options);
    };
    reap({ kube: { ...cluster.kube, list } });
    await cluster.pass(15);
    expect(lists).toBe(1);
  });

  test('ends nothing on a partial list of EC2: it asks for what is missing by id', async () => {
    await started(never);
    const names = ['n1', 'n2', 'n3'];
    const made = [];
    for (const name of names) made.push(await cluster.node(name));
    await cluster.pass(125);
    reap({ cloud: { ...cluster.cloud, instancesByTag: () => Promise.resolve([]) } });
    for (const name of names) await cluster.ready(name, false);
    await cluster.pass(300);
    expect(made.map(({ instanceId }) => stateOf(instanceId))).toEqual(names.map(() => 'running'));
  });

  test('ends a claim whose Node was removed by force, and its instance', async () => {
    await started(never);
    const { instanceId } = await cluster.node('n1');
    const { instanceId: other } = await cluster.node('n2');
    reap();
    await cluster.pass(2);
    await cluster.kube.patch(
      { resource: nodes, name: 'n1' },
      { type: 'merge', body: { metadata: { finalizers: [] } } },
    );
    await cluster.kube.delete({ resource: nodes, name: 'n1' });
    await cluster.pass(280);
    expect(stateOf(instanceId)).toBe('running');
    expect(await cluster.pass(240, gone('claim-n1'), 2_000)).toBe(true);
    expect([stateOf(instanceId), stateOf(other)]).toEqual(['terminated', 'running']);
    expect(collected('nodeclaims_disrupted_total')).toBe(1);
  });

  test('leaves a Ready node whose claim was removed by force, and says so', async () => {
    await started(never);
    const { instanceId } = await cluster.node('n1');
    reap();
    await cluster.pass(2);
    await cluster.kube.patch(
      { resource: nodeClaims, name: 'claim-n1' },
      { type: 'merge', body: { metadata: { finalizers: [] } } },
    );
    await cluster.kube.delete({ resource: nodeClaims, name: 'claim-n1' });
    await cluster.pass(600);
    expect([stateOf(instanceId), cluster.said('collection-brake').length > 0]).toEqual([
      'running',
      true,
    ]);
  });

  test('leaves the instance of a claim that cannot be read, and goes on with the rest', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const { instanceId } = await cluster.node('n1');
    await cluster.kube.patch(
      { resource: nodeClaims, name: 'claim-n1' },
      {
        type: 'merge',
        body: { metadata: { annotations: { 'dovetail.sh/planned': 'yesterday' } } },
      },
    );
    const stray = await cluster.strayInstance();
    // A node that is ready proves that its instance is somebody's. This one proves nothing.
    await cluster.ready('n1', false);
    reap();
    expect(await cluster.pass(60, () => stateOf(stray) === 'terminated')).toBe(true);
    await cluster.pass(60);
    expect(stateOf(instanceId)).toBe('running');
  });

  test('leaves a claim whose Node is there, though the watch does not show it', async () => {
    await started(never);
    const { instanceId } = await cluster.node('n1');
    await cluster.node('n2');
    async function* without<T extends { readonly kind: string }>(
      events: AsyncIterable<T>,
    ): AsyncGenerator<T> {
      for await (const event of events)
        if (!JSON.stringify(event).includes('"name":"n1"')) yield event;
    }
    const watch: KubeApi['watch'] = (watched, stop) =>
      watched.resource === nodes
        ? without(cluster.kube.watch(watched, stop))
        : cluster.kube.watch(watched, stop);
    reap({ kube: { ...cluster.kube, watch } });
    await cluster.pass(900, undefined, 2_000);
    expect([stateOf(instanceId), isDeleting('claim-n1')]).toEqual(['running', false]);
  });

  test('stops loudly instead of ending much of the fleet', async () => {
    await started();
    const strays = [];
    for (let index = 0; index < 4; index += 1) strays.push(await cluster.strayInstance());
    reap();
    await cluster.pass(120);
    expect(strays.map(stateOf)).toEqual(['running', 'running', 'running', 'running']);
    expect(
      cluster.log.entries.filter(({ name }) => name === 'collection-brake').length,
    ).toBeGreaterThan(0);
    expect(
      cluster.metrics.value('dovetail_collection_stopped', { brake: 'collection-brake' }),
    ).toBe(1);
  });

  test('touches nothing when the tags name another cluster', async () => {
    await started();
    const stray = await cluster.strayInstance();
    await cluster.pass(1);
    cluster.twin.tag([stray], { 'dovetail.sh/cluster-uid': 'another' });
    reap();
    await cluster.pass(120);
    expect([
      stateOf(stray),
      cluster.log.entries.some(({ name }) => name === 'cluster-mismatch'),
    ]).toEqual(['running', true]);
  });
});

test('the state that it shows names what it does', async () => {
  await started();
  await cluster.node('n1', { nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' } });
  const { reaper } = reap();
  await cluster.pass(5);
  expect(reaper.ready()).toEqual({ bus: true, watches: true });
  expect(reaper.debugState()).toMatchObject({
    leading: true,
    epoch: 1,
    claims: 1,
    nodes: 1,
    unsynced: [],
    ending: [],
    retiring: [],
  });
  cluster.server.stop();
  expect(reaper.ready()).toEqual({ bus: false, watches: true });
});
