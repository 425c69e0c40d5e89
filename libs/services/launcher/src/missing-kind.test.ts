import { type KubeResource, kubeResources } from '@dovetail/core-ports';
import { podObject, withoutList } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import { openStage, planned, podNamed, self } from './testing/placing.js';

const { nodeClaims, csiNodes, persistentVolumes, storageClasses, namespaces } = kubeResources;

const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
const waitsForVolumes = 'warn volumes-unknown pods with volumes get no node';

/** A launcher that may not list one kind, a plain pod, and a pod with a volume. */
async function without(resource: KubeResource): Promise<void> {
  await openStage();
  await self.readyPool();
  await planned([podObject('plain'), podObject('stored', { spec: { volumes } })], {
    ports: { ...self.ports(), kube: withoutList(self, resource) },
  });
}
const claims = (): Promise<readonly unknown[]> => self.kube.list(nodeClaims);
const said = (text: string): boolean => self.log.lines.some((line) => line.startsWith(text));

describe.each([
  ['CSINodes', csiNodes, 'csinode'],
  ['PersistentVolumes', persistentVolumes, 'pv'],
  ['StorageClasses', storageClasses, 'storageclass'],
])('a launcher that may not list %s', (_what, resource, kind) => {
  test('buys a node for a pod without volumes, and says why it buys none for one with', async () => {
    await without(resource);
    await self.until('the end of patience', () => said(waitsForVolumes));
    await self.planner.planFor(['stored']);
    const [event] = await self.until('an Event', () => {
      const events = self.events('VolumesUnknown');
      return events.length > 0 && events;
    });
    expect(event).toContain(
      `pod default/stored mounts volumes, and the first list of ${kind} is not complete. Remedy: let the launcher list and watch ${kind}`,
    );
    expect(await claims()).toEqual([]);
    await self.planner.planFor(['plain']);
    await self.until('a claim', async () => (await claims()).length === 1);
    expect(await podNamed('plain')).toBeDefined();
  });
});

test('a pod with volumes that is never planned hears why it waits', async () => {
  await without(csiNodes);
  await self.advance(240_000);
  expect(self.events('VolumesUnknown')).toEqual([
    expect.stringMatching(/^pod default\/stored mounts volumes, and the first list of csinode /),
  ]);
});

test('pods with volumes wait no longer once the lists are there', async () => {
  await openStage();
  await self.readyPool();
  await planned([podObject('stored', { spec: { volumes } })]);
  await self.planner.planFor(['stored']);
  await self.until('a claim', async () => (await claims()).length === 1);
  await self.advance(240_000);
  expect([said(waitsForVolumes), self.events('VolumesUnknown')]).toEqual([false, []]);
});

test('without Namespaces no plan is admitted, since any pod may be kept away by their labels', async () => {
  await openStage();
  await self.readyPool();
  self.launcher('one', { ports: { ...self.ports(), kube: withoutList(self, namespaces) } });
  await self.advance(120_000);
  expect(await self.head()).toBeUndefined();
  expect(self.log.lines.filter((line) => line.includes('waiting-for-watches')).at(-1)).toMatch(
    /admission waits for the first lists of namespace /,
  );
});
