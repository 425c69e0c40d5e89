import type { PlanMessage } from '@dovetail/contracts';
import { at } from '@dovetail/core-invariant';
import { kubeResources } from '@dovetail/core-ports';
import type { BinOption } from '@dovetail/core-scheduling';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { afterEach, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});

/** The same plan with other options, whose prices it adds up rightly. */
function offering(message: PlanMessage, change: Partial<BinOption>): PlanMessage {
  const newNodes = message.plan.newNodes.map((bin) => ({
    ...bin,
    options: bin.options.slice(0, 1).map((option) => ({ ...option, ...change })),
  }));
  const priceMicrosPerHour = newNodes.reduce(
    (sum, { options }) => sum + at(options, 0).priceMicrosPerHour,
    0,
  );
  return { ...message, plan: { ...message.plan, newNodes, priceMicrosPerHour } };
}

test.each<[string, Partial<BinOption>, Readonly<Record<string, string>>]>([
  ['lower than those that the launcher reads', { priceMicrosPerHour: 1_000 }, {}],
  [
    'that a cap allows, of a type that it does not',
    { instanceType: 'm5.xlarge', priceMicrosPerHour: 1_000 },
    { 'dovetail.sh/max-price-per-hour': '0.1' },
  ],
])('a plan with prices %s is refused, and the reason says both', async (_what, change, cap) => {
  self = await launcherStage();
  await self.kube.create(kubeResources.ec2NodeClasses, nodeClassObject());
  const pool = nodePoolObject();
  const metadata = { ...pool.metadata, annotations: cap };
  await self.kube.create(kubeResources.nodePools, { ...pool, metadata });
  self.launcher('one');
  await self.planningPossible();
  await self.kube.create(kubeResources.pods, podObject('a', { cpu: '100m' }));
  await self.until("the pod in the planner's view", () => self.planner.cluster.pods.size === 1);
  const { plan } = await self.planner.planFor(['a'], {
    change: (message) => offering(message, change),
  });
  expect(plan.newNodes).toHaveLength(1);
  await self.until('a verdict', () =>
    self.log.entries.some(({ name }) => name === 'decision-refuse'),
  );
  expect(JSON.stringify(self.log.entries.find(({ name }) => name === 'decision-refuse'))).toMatch(
    /costs \d+, the plan says 1000/,
  );
  expect(await self.kube.list(kubeResources.nodeClaims)).toEqual([]);
});
