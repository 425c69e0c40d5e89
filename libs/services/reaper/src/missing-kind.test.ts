import { annotations } from '@dovetail/core-api';
import { type KubeApi, type KubeResource, kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import {
  cluster,
  gone,
  isDeleting,
  reap,
  replacements,
  retirementOn,
  started,
  tainted,
} from './testing/current-cluster.js';

const { nodeClaims, podDisruptionBudgets, volumeAttachments } = kubeResources;

/** The API server, of whose objects of one kind the first list never ends. */
function without(resource: KubeResource): KubeApi {
  const { kube } = cluster;
  async function* never(): AsyncIterable<never> {
    await cluster.clock.sleep(1e9, cluster.stop.signal);
    yield* [];
  }
  return Object.assign(Object.create(kube) as KubeApi, {
    watch: ((options, stop) =>
      options.resource === resource
        ? never()
        : kube.watch(options, stop)) satisfies KubeApi['watch'],
  });
}

/** A node that is empty, one that is old, and one that its owner deletes. */
async function world(): Promise<void> {
  await started();
  await cluster.node('old', { expireAfterMs: 60_000 });
  await cluster.node('deleted');
  await cluster.node('empty');
}

test('without PodDisruptionBudgets no empty node goes, and old and deleted ones do', async () => {
  await world();
  replacements({ afterMs: 1_000 });
  reap({ kube: without(podDisruptionBudgets) });
  await cluster.kube.delete({ resource: nodeClaims, name: 'claim-deleted' });
  expect(await cluster.pass(180, () => gone('claim-old')() && gone('claim-deleted')())).toBe(true);
  expect([retirementOn('empty'), isDeleting('claim-empty')]).toEqual([undefined, false]);
});

test('without VolumeAttachments an empty node goes like any other', async () => {
  await world();
  reap({ kube: without(volumeAttachments) });
  expect(await cluster.pass(180, gone('claim-empty'))).toBe(true);
});

/** Two nodes that go by one command, and its new node. */
async function twoUnderUsed(): Promise<void> {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  const claimAnnotations = { [annotations.pricePerHour]: '0.192000' };
  await cluster.node('n1', { cpu: '2', claimAnnotations });
  await cluster.node('n3', { cpu: '2', claimAnnotations });
  await cluster.scale('web', 4);
  await cluster.pass(1);
  replacements({ afterMs: 10_000, node: { cpu: '8' }, priceMicrosPerHour: 60_000 });
}

test('without VolumeAttachments under-used nodes go like any other', async () => {
  await twoUnderUsed();
  reap({ kube: without(volumeAttachments) });
  expect(await cluster.pass(180, () => gone('claim-n1')() && gone('claim-n3')(), 1_000)).toBe(true);
});

test('without VolumeAttachments the command of a predecessor is carried out', async () => {
  await twoUnderUsed();
  const first = reap();
  expect(await cluster.pass(60, () => tainted('n3'), 1_000)).toBe(true);
  first.stop.abort();
  reap({ kube: without(volumeAttachments) });
  const isOver = () => cluster.commandsUnderWay().length === 0 && gone('claim-n3')();
  expect(await cluster.pass(180, isOver, 1_000)).toBe(true);
});

test('without PodDisruptionBudgets no under-used node goes', async () => {
  await twoUnderUsed();
  reap({ kube: without(podDisruptionBudgets) });
  await cluster.pass(120);
  expect([tainted('n1'), tainted('n3')]).toEqual([false, false]);
});
