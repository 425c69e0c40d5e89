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
