import { publishHead } from '@dovetail/contracts';
import { kubeResources } from '@dovetail/core-ports';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from './testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});

test.each([
  ['behind', -61_000],
  ['ahead', 61_000],
])(
  "a plan is admitted though its solver's clock is a minute %s, and its claim says when it came",
  async (_which, offMs) => {
    self = await launcherStage();
    await self.readyPool();
    self.launcher('one');
    await self.planningPossible();
    await self.kube.create(kubeResources.pods, podObject('a'));
    await self.until("the pod in the planner's view", () => self.planner.cluster.pods.size === 1);
    const { clock } = self;
    const sentMs = clock.nowMs();
    await self.planner.planFor(['a'], {
      change: (message) => ({ ...message, createdMs: message.createdMs + offMs }),
    });
    await self.until(
      'the claim',
      async () => (await self.kube.list(kubeResources.nodeClaims)).length === 1,
    );
    const [claim] = await self.kube.list(kubeResources.nodeClaims);
    const plannedMs = Date.parse(claim?.metadata.annotations?.['dovetail.sh/planned'] ?? '');
    expect(plannedMs).toBeGreaterThanOrEqual(sentMs - 1_000);
    expect(plannedMs).toBeLessThanOrEqual(clock.nowMs());
  },
);

test('a launcher whose Lease was deleted goes on above the work of a leader whose clock was ahead', async () => {
  self = await launcherStage();
  await self.readyPool();
  const epoch = Math.floor(self.clock.nowMs() / 1_000) + 3_600;
  await publishHead(self.channel, { epoch, number: 7 }, { generation: `${String(epoch)}.9` });
  self.launcher('one');
  await self.until('a head above', async () => ((await self.head())?.epoch ?? 0) > epoch);
  await self.planningPossible();
  await self.kube.create(kubeResources.pods, podObject('a'));
  await self.until("the pod in the planner's view", () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
  await self.until(
    'the claim',
    async () => (await self.kube.list(kubeResources.nodeClaims)).length === 1,
  );
});
