import { classKey } from '@dovetail/core-cluster';
import { resourcesOf } from '@dovetail/core-kube-model';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import {
  type LauncherStage,
  launcherStage,
  type RunningLauncher,
} from '../testing/launcher-stage.js';

let self: LauncherStage;
let first: RunningLauncher;
afterEach(() => {
  self.end();
});

const mebibyte = 1024 ** 2;
const { pods, nodes } = kubeResources;

/** A stage whose kubelets report this memory for pods, with a pod that has a node. */
async function bought(memoryMib?: number): Promise<KubeObject> {
  self = await launcherStage(
    memoryMib === undefined
      ? {}
      : {
          reports: (instance) => ({
            ...instance,
            allocatable: { ...instance.allocatable, memory: `${memoryMib}Mi` },
          }),
        },
  );
  await self.readyPool();
  first = self.launcher('one');
  await self.planningPossible();
  await self.kube.create(pods, podObject('a', { cpu: '1' }));
  await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
  return await self.until('a node that is ready', async () =>
    (await self.kube.list(nodes)).find(
      ({ metadata }) => metadata.labels?.['karpenter.sh/initialized'] === 'true',
    ),
  );
}

const typeOf = (node: KubeObject): string =>
  node.metadata.labels?.['node.kubernetes.io/instance-type'] ?? '';

/** The memory for pods that solvers plan with, of each type. */
function planned(type: string): number {
  const [pool] = self.planner.cluster.pools.values();
  const types = self.planner.catalog.typesOf(pool === undefined ? '' : classKey(pool.classRef));
  return types.get(type)?.allocatable['memory'] ?? 0;
}

/** The memory for pods that the node reports, in bytes. */
function reported(node: KubeObject): number {
  const { allocatable } = node['status'] as { allocatable: Readonly<Record<string, string>> };
  const read = resourcesOf(allocatable);
  return read.ok ? (read.value['memory'] ?? 0) : 0;
}

describe('the room that later plans count on', () => {
  test('is what nodes of the type and image turned out to have', async () => {
    const node = await bought();
    const type = typeOf(node);
    const real = reported(node);
    const before = planned(type);
    expect(before).toBeLessThan(real);
    await self.until('a new catalog', () => planned(type) > before, 60_000);
    const learnt = planned(type);
    // A little is left for hosts that have less.
    expect(learnt).toBeLessThanOrEqual(real);
    expect(real - learnt).toBeLessThan(real / 400 + 2 * mebibyte);
    expect(self.said('capacity-learnt')).toMatchObject([{ fields: { instanceType: type } }]);
  });

  test('is less than before where a node has less', async () => {
    const node = await bought(3_000);
    const type = typeOf(node);
    await self.until('a new catalog', () => planned(type) <= 3_000 * mebibyte, 60_000);
    expect(planned(type)).toBe(3_000 * mebibyte);
  });

  test('is learnt anew by a launcher that starts, from the nodes that live', async () => {
    const type = typeOf(await bought());
    const before = planned(type);
    await self.until('a new catalog', () => planned(type) > before, 60_000);
    const learnt = planned(type);
    const said = (): number => self.said('capacity-learnt').length;
    const saidBefore = said();
    first.life.die();
    self.launcher('two');
    await self.until('what the successor learns', () => said() > saidBefore);
    expect(planned(type)).toBe(learnt);
  });
});
