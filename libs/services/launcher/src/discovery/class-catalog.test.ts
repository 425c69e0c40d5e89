import { classKey } from '@dovetail/core-cluster';
import type { Resources } from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';
import type { Machine } from '@dovetail/sim-cloud';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { defaultLauncherConfig } from '../config.js';
import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

let self: LauncherStage;
beforeEach(async () => {
  self = await launcherStage();
  await self.readyPool();
});
afterEach(() => {
  self.end();
});

const { discovery } = defaultLauncherConfig;
type CapacityChange = Partial<Pick<typeof discovery, 'vmMemoryOverheadPercent' | 'reservedEnis'>>;

const launch = (change: CapacityChange): void =>
  void self.launcher('one', { config: { discovery: { ...discovery, ...change } } });

/** The capacity that the planner gives an m5.large. */
function planned(): Resources {
  const [pool] = self.planner.cluster.pools.values();
  const types = self.planner.catalog.typesOf(pool === undefined ? '' : classKey(pool.classRef));
  return types.get('m5.large')?.capacity ?? {};
}

const mebibyte = 1024 ** 2;

describe('the room of a node', () => {
  // An m5.large has 8192 MiB, and three interfaces of ten addresses.
  test.each<[string, CapacityChange, { memoryMib: number; pods: number }]>([
    ['by default', {}, { memoryMib: 8192 - 615, pods: 29 }],
    [
      'with a fifth of the memory for the hypervisor',
      { vmMemoryOverheadPercent: 0.2 },
      { memoryMib: 8192 - 1639, pods: 29 },
    ],
    [
      'with one interface that pods cannot use',
      { reservedEnis: 1 },
      { memoryMib: 8192 - 615, pods: 20 },
    ],
  ])('is planned %s', async (_how, change, { memoryMib, pods }) => {
    launch(change);
    await self.planningPossible();
    expect(planned()).toMatchObject({ memory: memoryMib * mebibyte, pods });
  });

  test('is what a node boots with: its kubelet takes no pods for reserved interfaces', async () => {
    const machines: Machine[] = [];
    self.twin.onBoot((machine) => void machines.push(machine));
    launch({ reservedEnis: 1 });
    await self.planningPossible();
    await self.kube.create(kubeResources.pods, podObject('a'));
    await self.until("the pod in the planner's view", () => self.planner.cluster.pods.size === 1);
    await self.planner.planFor(['a']);
    const { podsMax, instanceType } = await self.until('a machine', () => machines[0]);
    const facts = self.twin.types.get(instanceType)?.facts;
    const { interfacesMax = 0, ipv4PerInterface = 0 } = facts?.network ?? {};
    expect(podsMax).toBe((interfacesMax - 1) * (ipv4PerInterface - 1) + 2);
  });

  test('changes the name of the catalog', async () => {
    const published = (): readonly unknown[] =>
      self.log.entries
        .filter(({ name }) => name === 'catalog-published')
        .map(({ fields }) => fields['revision']);
    const { life } = self.launcher('one');
    await self.planningPossible();
    life.die();
    self.launcher('two', { config: { discovery: { ...discovery, reservedEnis: 1 } } });
    await self.until('another catalog', () => published().length > 1);
    expect(new Set(published()).size).toBe(2);
  });
});
