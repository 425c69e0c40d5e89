import { CloudError, kubeResources } from '@dovetail/core-ports';
import { nodeClassObject, nodePoolObject } from '@dovetail/sim-stage';
import { afterEach, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});

const slowTerms = [{ tags: { slow: 'yes' } }];

/** A launcher to which AWS answers late, and with an error, about the subnets of slow classes. */
async function withSlowClasses(count: number): Promise<{ asked: number }> {
  self = await launcherStage();
  const seen = { asked: 0 };
  const ports = self.ports();
  const subnets: typeof ports.cloud.subnets = async (filters) => {
    if (!JSON.stringify(filters).includes('slow')) return ports.cloud.subnets(filters);
    seen.asked += 1;
    await self.clock.sleep(10_000, self.stop.signal);
    throw new CloudError('unavailable', 'RequestTimeout', 'EC2 is slow');
  };
  const { ec2NodeClasses, nodePools } = kubeResources;
  for (let index = 0; index < count; index += 1) {
    const slow = nodeClassObject(`slow-${index}`, { subnetSelectorTerms: slowTerms });
    await self.kube.create(ec2NodeClasses, slow);
  }
  await self.kube.create(ec2NodeClasses, nodeClassObject());
  await self.kube.create(nodePools, nodePoolObject());
  self.launcher('one', { ports: { ...ports, cloud: { ...ports.cloud, subnets } } });
  return seen;
}

test('sixty slow classes do not hold up a good one', async () => {
  await withSlowClasses(0);
  await self.planningPossible();
  const aloneS = self.seconds();
  self.end();
  await withSlowClasses(60);
  await self.planningPossible();
  expect(self.seconds() - aloneS).toBeLessThan(2);
});

test('a class that stays broken is asked for as rarely as a usable one', async () => {
  const seen = await withSlowClasses(1);
  await self.planningPossible();
  await self.advance(10 * 60_000);
  const before = seen.asked;
  await self.advance(10 * 60_000);
  // A minute between two looks, ten seconds for each answer, and a look after each reading of EKS.
  expect(seen.asked - before).toBeLessThanOrEqual(12);
  expect(seen.asked - before).toBeGreaterThanOrEqual(7);
});
