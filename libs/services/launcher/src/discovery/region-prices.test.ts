import { classKey } from '@dovetail/core-cluster';
import type { Offering, PriceQuote } from '@dovetail/core-ec2-model';
import { type Cloud, CloudError, kubeResources } from '@dovetail/core-ports';
import { hash, podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import type { LauncherConfig } from '../config.js';
import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';
import { RegionPrices } from './region-prices.js';

let self: LauncherStage;
let asked = 0;
afterEach(() => {
  asked = 0;
  self.end();
});

/** A launcher with these answers of the cloud and a ready pool. `asked` counts price lists. */
async function readyWith(
  replaced: Partial<Cloud>,
  config: Partial<LauncherConfig> = {},
): Promise<void> {
  self = await launcherStage();
  await self.readyPool();
  const ports = self.ports();
  const cloud = { ...ports.cloud, ...replaced };
  const onDemandPrices: Cloud['onDemandPrices'] = () => {
    asked += 1;
    return cloud.onDemandPrices();
  };
  self.launcher('one', { ports: { ...ports, cloud: { ...cloud, onDemandPrices } }, config });
  await self.planningPossible();
}

const denied = (): Promise<never> =>
  Promise.reject(new CloudError('denied', 'AccessDenied', 'no right to ask'));

/** The offerings of this capacity type in the planner's catalog. */
function offered(capacityType: Offering['capacityType']): readonly Offering[] {
  const [pool] = self.planner.cluster.pools.values();
  const types = self.planner.catalog.typesOf(pool === undefined ? '' : classKey(pool.classRef));
  const found = [...types.values()]
    .flatMap((type) => type.offerings)
    .filter((offering) => offering.capacityType === capacityType);
  expect(found.length).toBeGreaterThan(0);
  return found;
}

const spotOfCloud = async (): Promise<ReadonlySet<number>> =>
  new Set((await self.cloud.spotPrices()).map(({ priceMicrosPerHour }) => priceMicrosPerHour));

const warned = (name: string): readonly string[] =>
  self.log.entries
    .filter((entry) => entry.name === name && entry.level === 'warn')
    .map(({ message }) => message);

describe('without the Pricing API', () => {
  test('pods get nodes by bundled and by spot prices, and the API is asked again', async () => {
    await readyWith({ onDemandPrices: denied });
    await self.kube.create(kubeResources.pods, podObject('a'));
    await self.until("the pod in the planner's view", () => self.planner.cluster.pods.size === 1);
    await self.planner.planFor(['a']);
    await self.until('an instance', () => self.twin.instances.all().length === 1);
    await self.until('another question for prices', () => asked > 1);
    expect(offered('on-demand').every(({ priceEstimated }) => priceEstimated)).toBe(true);
    const real = await spotOfCloud();
    expect(
      offered('spot').filter(({ priceMicrosPerHour }) => !real.has(priceMicrosPerHour)),
    ).toEqual([]);
  });

  test('a refusal that lasts is told rarely, and asked about less and less often', async () => {
    await readyWith({ onDemandPrices: denied, spotPrices: denied });
    await self.pass(60 * 60);
    expect(asked).toBeGreaterThan(10);
    expect(asked).toBeLessThan(25);
    const said = warned('discovery-failed');
    expect(said.length).toBeGreaterThan(1);
    expect(said.length).toBeLessThanOrEqual(13);
    expect(said[0]).toBe('prices could not be read: no right to ask; trying again in 10 s');
    expect(warned('spot-prices-missing')).toHaveLength(1);
    expect(warned('prices-bundled')).toEqual([
      'the on-demand prices of us-west-2 are not known: bundled ones of us-east-1, in US dollars and marked as estimated, stand in',
    ]);
  });

  test('real prices take over once the API answers', async () => {
    let allowed = false;
    await readyWith({ onDemandPrices: () => (allowed ? self.cloud.onDemandPrices() : denied()) });
    allowed = true;
    const real = new Set(
      (await self.cloud.onDemandPrices()).map(({ priceMicrosPerHour }) => priceMicrosPerHour),
    );
    await self.until('the API to be asked again', () => asked > 1);
    await self.until('real prices', () =>
      offered('on-demand').every(({ priceMicrosPerHour }) => real.has(priceMicrosPerHour)),
    );
  });

  test.each([
    ['us-gov-west-1', 'beside its own spot prices, which are in dollars too', false],
    ['cn-north-1', 'for spot as well, whose own prices are in yuan', true],
  ])(
    'bundled prices of us-east-1 stand in for %s, marked and told, %s',
    async (region, _how, also) => {
      await readyWith({ onDemandPrices: denied }, { region });
      expect(offered('on-demand').every(({ priceEstimated }) => priceEstimated)).toBe(true);
      const real = await spotOfCloud();
      const ofSpot = offered('spot').map(({ priceMicrosPerHour }) => priceMicrosPerHour);
      const bundled = new Set(
        offered('on-demand').map(({ priceMicrosPerHour }) => priceMicrosPerHour),
      );
      expect(ofSpot.filter((price) => !(also ? bundled : real).has(price))).toEqual([]);
      expect(warned('prices-bundled')).toEqual([
        expect.stringContaining(`the on-demand prices of ${region} are not known`),
      ]);
    },
  );
});

describe('prices that AWS lists no more', () => {
  const quote = (
    capacityType: 'on-demand' | 'spot',
    instanceType: string,
    priceMicrosPerHour: number,
  ): PriceQuote => ({
    instanceType,
    capacityType,
    priceMicrosPerHour,
    estimated: false,
    ...(capacityType === 'spot' ? { zone: 'us-east-1a' } : {}),
  });
  const onDemand = [quote('on-demand', 'm5.large', 96_000), quote('on-demand', 'm5.metal', 4_608)];
  const spot = [quote('spot', 'm5.large', 30_000), quote('spot', 'm5.metal', 40_000)];

  /** The prices in micros after two readings, with a `~` if they are estimated. */
  async function afterTwo(second: {
    readonly onDemand?: readonly PriceQuote[];
    readonly spot?: readonly PriceQuote[];
  }): Promise<readonly (string | undefined)[]> {
    self = await launcherStage();
    let listed = { onDemand, spot } as Required<typeof second>;
    const cloud = {
      onDemandPrices: () => Promise.resolve(listed.onDemand),
      spotPrices: () => Promise.resolve(listed.spot),
    };
    const config = { region: 'us-east-1', isolatedVpc: false };
    const prices = new RegionPrices({ cloud, hash, log: self.log }, config);
    await prices.read();
    listed = { ...listed, ...second };
    await prices.read().catch(() => undefined);
    const read = prices.believed?.prices;
    return [
      ...['m5.large', 'm5.metal'].map((type) => read?.onDemand(type)),
      ...['m5.large', 'm5.metal'].map((type) => read?.spot(type, 'us-east-1a')),
    ].map((price) => price && `${price.estimated ? '~' : ''}${price.micros}`);
  }

  test.each([
    ['nothing is missing', {}, ['96000', '4608', '30000', '40000']],
    [
      'a page of on-demand prices is missing',
      { onDemand: [quote('on-demand', 'm5.large', 97_000)] },
      ['97000', '~4608', '30000', '40000'],
    ],
    ['no on-demand price is listed', { onDemand: [] }, ['96000', '4608', '30000', '40000']],
    [
      'a page of Spot prices is missing',
      { spot: [quote('spot', 'm5.large', 31_000)] },
      ['96000', '4608', '31000', '~40000'],
    ],
    ['no Spot price is listed', { spot: [] }, ['96000', '4608', '30000', '40000']],
  ])('stand as they were when %s', async (_when, second, prices) =>
    expect(await afterTwo(second)).toEqual(prices),
  );

  test('are bundled ones when the first list of on-demand prices is empty', async () => {
    self = await launcherStage();
    const cloud = {
      onDemandPrices: () => Promise.resolve([]),
      spotPrices: () => Promise.resolve(spot),
    };
    const config = { region: 'us-east-1', isolatedVpc: false };
    const prices = new RegionPrices({ cloud, hash, log: self.log }, config);
    await expect(prices.read()).rejects.toThrow(
      'AWS lists no on-demand price of us-east-1: an empty list is not believed',
    );
    expect(prices.believed?.prices.onDemand('m5.large')).toMatchObject({ estimated: true });
  });
});

test('in a partition without the Pricing API it is never asked', async () => {
  await readyWith({}, { region: 'us-gov-west-1' });
  await self.pass(60 * 60);
  expect([asked, warned('discovery-failed')]).toEqual([0, []]);
});

describe('an isolated VPC', () => {
  test('never asks the Pricing API, and says once that bundled prices stand in', async () => {
    await readyWith({}, { isolatedVpc: true });
    await self.pass(60 * 60);
    expect(asked).toBe(0);
    expect(offered('on-demand').every(({ priceEstimated }) => priceEstimated)).toBe(true);
    expect(warned('prices-bundled')).toHaveLength(1);
    expect(warned('discovery-failed')).toEqual([]);
  });

  test('believes in the instance profile that a class names, as IAM is out of reach', async () => {
    const unreachable = (): Promise<never> =>
      Promise.reject(new CloudError('unavailable', 'ETIMEDOUT', 'iam is out of reach'));
    self = await launcherStage();
    await self.readyPool({ role: undefined, instanceProfile: 'nodes' });
    const ports = self.ports();
    self.launcher('one', {
      ports: { ...ports, cloud: { ...ports.cloud, instanceProfileExists: unreachable } },
      config: { isolatedVpc: true },
    });
    await self.planningPossible();
    const [nodeClass] = await self.kube.list(kubeResources.ec2NodeClasses);
    expect(nodeClass?.['status']).toMatchObject({ instanceProfile: 'nodes' });
  });
});
