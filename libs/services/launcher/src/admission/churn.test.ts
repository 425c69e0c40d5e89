import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { podObject, Workloads } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { pods, nodes, nodeClaims, events } = kubeResources;

/** A cause that no plan foresees: every kubelet reports a tenth of its machine's CPU. */
async function plant(): Promise<void> {
  self = await launcherStage({
    reports: (instance) => ({ ...instance, allocatable: { ...instance.allocatable, cpu: '100m' } }),
  });
  await self.readyPool();
  self.launcher('one');
  await self.planningPossible();
  await self.kube.create(pods, podObject('a', { cpu: '1500m' }));
  await self.until("the pod in the solver's view", () => self.planner.cluster.pods.size === 1);
  self.planner.planAlways();
}

const claims = (): Promise<readonly KubeObject[]> => self.kube.list(nodeClaims);
const launched = (): number => self.twin.instances.all().length;
const eventOf = (reason: string): Promise<KubeObject> =>
  self.until(`the Event ${reason}`, async () =>
    (await self.kube.list(events)).find((event) => event['reason'] === reason),
  );

describe('a pod that no node of its size runs', () => {
  test('is given two, and then a further one only after waits that double', async () => {
    await plant();
    const held = await eventOf('NoProgress');
    expect(held).toMatchObject({
      type: 'Warning',
      involvedObject: { kind: 'Pod', name: 'a' },
      message: expect.stringMatching(
        /^2 nodes of this size were launched for pod default\/a, and it runs on none of them; .*Remedy: compare/,
      ),
    });
    expect(launched()).toBe(2);
    await self.advance(40_000);
    expect(launched()).toBe(2);
    await self.until('a third after the wait', () => launched() === 3);
    await self.advance(60_000);
    expect([launched(), (await claims()).length]).toEqual([3, 3]);
    expect(self.log.lines.some((line) => line.startsWith('warn no-progress '))).toBe(true);
    expect(self.metrics.value('dovetail_pods_held_total')).toBeGreaterThan(0);
  });
});

describe('pods that a ReplicaSet makes anew, because their nodes fail before they run', () => {
  test('are tries of one thing: after two nodes the next waits', async () => {
    self = await launcherStage({ controlPlane: {}, kubelets: { podStartMs: 3_600_000 } });
    await self.readyPool();
    self.launcher('one');
    await self.planningPossible();
    await new Workloads(self).scale('web', 1);
    self.planner.planAlways();
    const failed = new Set<string>();
    const taints = [{ key: 'example.com/broken', effect: 'NoExecute' }];
    await self.until('a hold', async () => {
      for (const { metadata } of self.list(nodes)) {
        const { name, labels } = metadata;
        if (labels?.['karpenter.sh/initialized'] !== 'true' || failed.has(name)) continue;
        failed.add(name);
        self.agent.halt(name);
        await self.kube.patch(
          { resource: nodes, name },
          { type: 'merge', body: { spec: { taints } } },
        );
      }
      return failed.size > 2 || self.events('NoProgress').length > 0;
    });
    expect([launched(), self.events('NoProgress').length]).toEqual([2, 1]);
  });
});
