import {
  DescribeSpotPriceHistoryCommand,
  type DescribeSpotPriceHistoryCommandInput,
  type SpotPrice,
} from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startWire, type Wire } from '../testing/wire.js';

let wire: Wire;
beforeAll(async () => {
  wire = await startWire({ settings: { limits: 'none' } });
});
afterAll(() => wire.close());

type Input = DescribeSpotPriceHistoryCommandInput;
const page = (input: Input) => wire.ec2.send(new DescribeSpotPriceHistoryCommand(input));

const identity = (price: SpotPrice): string =>
  [price.InstanceType, price.AvailabilityZone, price.Timestamp?.getTime()].join(' ');

/** The pages until the end, with one EndTime for all so that no price changes in between. */
async function pagesOf(input: Input): Promise<readonly SpotPrice[][]> {
  const pages: SpotPrice[][] = [];
  let token: string | undefined;
  do {
    const { SpotPriceHistory = [], NextToken } = await page({
      ...input,
      ...(token === undefined ? {} : { NextToken: token }),
    });
    pages.push(SpotPriceHistory);
    token = NextToken === '' ? undefined : NextToken;
  } while (token !== undefined);
  return pages;
}

test('the prices of 90 days of every pool come page by page, and only the page is computed', async () => {
  const first = await page({});
  expect(first.SpotPriceHistory).toHaveLength(1000);
  const second = await page({ NextToken: first.NextToken });
  expect(second.SpotPriceHistory).toHaveLength(1000);
  const pools = new Set(first.SpotPriceHistory?.map((price) => price.InstanceType));
  expect(pools.size).toBeLessThan(5);
});

test.each([70, 1000])('pages of %i prices hold each price once, newest first', async (size) => {
  const EndTime = new Date();
  const input = { InstanceTypes: ['m5.large' as const, 'c5.large' as const], EndTime };
  const pages = await pagesOf({ ...input, MaxResults: size });
  const prices = pages.flat();
  expect(pages.slice(0, -1).every((one) => one.length === size)).toBe(true);
  expect(new Set(prices.map(identity)).size).toBe(prices.length);
  const zones = ['m5.large', 'c5.large'].flatMap((name) => wire.twin.types.get(name)?.zones ?? []);
  // One price each six hours for 90 days, and the one in force before.
  expect(prices.length).toBeGreaterThanOrEqual(zones.length * 360);
  expect(prices.length).toBeLessThanOrEqual(zones.length * 361);
});

test('a filter that admits little ends its pages early, and the pages still lead to the end', async () => {
  const { SpotPriceHistory = [], NextToken } = await page({
    Filters: [{ Name: 'spot-price', Values: ['0.000001'] }],
  });
  expect([SpotPriceHistory.length, NextToken === undefined]).toEqual([0, false]);
});
