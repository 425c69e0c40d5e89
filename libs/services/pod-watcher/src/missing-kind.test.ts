import { type KubeResource, kubeResources } from '@dovetail/core-ports';
import { withoutList } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { PodWatcherStage, type RunningPodWatcher } from './testing/pod-watcher-stage.js';

let stage: PodWatcherStage;
afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

/** Longer than kinds that not every pod needs are waited for. */
const patienceMs = 31_000;
const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];

/** A pod-watcher that may not list one kind, a plain pod, and a pod with a volume. */
async function without(resource: KubeResource): Promise<Readonly<Record<string, string>>> {
  stage = await new PodWatcherStage().begin();
  stage.watcher(1, {}, withoutList(stage, resource));
  const plain = await stage.pod('plain');
  const stored = await stage.pod('stored', { spec: { volumes } });
  return { [plain]: 'plain', [stored]: 'stored' };
}
const planned = (names: Readonly<Record<string, string>>): readonly string[] =>
  [
    ...new Set(stage.batches.flatMap(({ podUids }) => podUids.map((uid) => names[uid] ?? uid))),
  ].sort();

describe.each([
  ['CSINodes', kubeResources.csiNodes, ['plain']],
  ['PersistentVolumes', kubeResources.persistentVolumes, ['plain']],
  ['PersistentVolumeClaims', kubeResources.persistentVolumeClaims, ['plain']],
  ['StorageClasses', kubeResources.storageClasses, ['plain']],
  ['PodDisruptionBudgets', kubeResources.podDisruptionBudgets, ['plain', 'stored']],
  ['Namespaces', kubeResources.namespaces, []],
  ['LimitRanges', kubeResources.limitRanges, []],
])('without %s', (_what, resource, wanted) => {
  test(`the pods that are planned: ${wanted.join(' and ') || 'none'}`, async () => {
    const names = await without(resource);
    await stage.advance(20_000);
    expect(planned(names)).toEqual([]);
    await stage.advance(patienceMs - 20_000);
    expect(planned(names)).toEqual(wanted);
    const [line, ...others] = stage.said('waiting-for-watches');
    expect([line?.level, others]).toEqual(['warn', []]);
    expect(line?.message).toContain(`the first lists of ${resource.kind} are missing`);
  });
});

test('a kind that cannot be listed keeps objects of no other kind in the state feed', async () => {
  stage = await new PodWatcherStage().begin();
  const first: RunningPodWatcher = stage.watcher(1);
  const uid = await stage.pod('goes');
  await stage.advance(50);
  first.end();
  await stage.advance(20);
  const ref = { resource: kubeResources.pods, namespace: 'default', name: 'goes' };
  await stage.kube.delete(ref, { gracePeriodSeconds: 0 });
  stage.watcher(2, {}, withoutList(stage, kubeResources.csiNodes));
  await stage.advance(2_000);
  expect((await stage.held('pod')).get(uid)).toBe('gone');
});
