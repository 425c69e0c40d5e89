import { classKey } from '@dovetail/core-cluster';
import { CloudError, kubeResources } from '@dovetail/core-ports';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, expect, jest, test } from '@jest/globals';

import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

// Time is virtual, but a machine that does much else needs seconds for a virtual hour.
jest.setTimeout(60_000);
let self: LauncherStage;
afterEach(() => {
  self.end();
});

test('without the Pricing API pods get nodes by bundled and by spot prices, and the API is asked again', async () => {
  self = await launcherStage();
  await self.readyPool();
  const ports = self.ports();
  let asked = 0;
  const onDemandPrices = () => {
    asked += 1;
    return Promise.reject(new CloudError('denied', 'AccessDenied', 'no right to ask'));
  };
  self.launcher('one', { ports: { ...ports, cloud: { ...ports.cloud, onDemandPrices } } });
  await self.planningPossible();
  await self.kube.create(kubeResources.pods, podObject('a'));
  await self.until("the pod in the solver's view", () =>
    [...self.planner.cluster.pods.values()].some((pod) => pod.name === 'a'),
  );
  await self.planner.planFor(['a']);
  await self.until('an instance', () => self.twin.instances.all().length === 1);
  await self.until('another question for prices', () => asked > 1);
  const [pool] = self.planner.cluster.pools.values();
  const types = self.planner.catalog.typesOf(pool === undefined ? '' : classKey(pool.classRef));
  const offerings = [...types.values()].flatMap((type) => type.offerings);
  const ofKind = (capacityType: string): typeof offerings =>
    offerings.filter((offering) => offering.capacityType === capacityType);
  expect(ofKind('on-demand').length).toBeGreaterThan(0);
  expect(ofKind('on-demand').every(({ priceEstimated }) => priceEstimated)).toBe(true);
  const spotPrices = new Set(
    (await ports.cloud.spotPrices()).map(({ priceMicrosPerHour }) => priceMicrosPerHour),
  );
  expect(ofKind('spot').length).toBeGreaterThan(0);
  expect(
    ofKind('spot').filter(({ priceMicrosPerHour }) => !spotPrices.has(priceMicrosPerHour)),
  ).toEqual([]);
});
