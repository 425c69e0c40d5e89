import { expect, test } from 'vitest';

import { catalogTypes, type TwinType } from './account.js';
import { spotPriceAt, spotStepMs } from './prices.js';
import { SpotMarket } from './spot-market.js';

const type = catalogTypes('us-west-2').find(({ facts }) => facts.name === 'm5.large') as TwinType;
const [startMs, zone] = [Date.UTC(2026, 5, 1), 'us-west-2a'];
const drawn = spotPriceAt('seed', type, zone, startMs)?.priceMicros ?? 0;

test('a market without turns has the drawn prices', () => {
  expect(new SpotMarket('seed').priceAt(type, zone, startMs)).toEqual(
    spotPriceAt('seed', type, zone, startMs),
  );
});

test.each([
  ['all pools', {}, 0.5],
  ['its family', { family: 'm5' }, 0.5],
  ['its type in its zone', { type: 'm5.large', zone }, 0.5],
  ['another family that begins the same', { family: 'm' }, 1],
  ['its type in another zone', { type: 'm5.large', zone: 'us-west-2b' }, 1],
])('a turn of %s costs the pool so much', (_what, pools, factor) => {
  const market = new SpotMarket('seed');
  market.turn(pools, 0.5, startMs);
  const price = market.priceAt(type, zone, startMs)?.priceMicros ?? 0;
  expect(Math.abs(price - drawn * factor)).toBeLessThanOrEqual(50);
});

test('the latest turn of a pool replaces the earlier ones', () => {
  const market = new SpotMarket('seed');
  market.turn({}, 0.5, startMs);
  market.turn({}, 1, startMs + 1);
  expect(market.priceAt(type, zone, startMs + 1)?.priceMicros).toBe(drawn);
});

test('a history has the prices of before and after a turn, newest first', () => {
  const market = new SpotMarket('seed');
  const period = { startMs: startMs - 2 * spotStepMs, endMs: startMs, stepsMax: 100 };
  const before = market.history(type, zone, period);
  market.turn({}, 0.5, startMs);
  const after = market.history(type, zone, period);
  expect(after[0]?.sinceMs).toBe(startMs);
  expect(after.slice(1)).toEqual(before);
});

test('a history goes back to the price at the start of the period, newest first', () => {
  const market = new SpotMarket('seed');
  const history = (period: Parameters<SpotMarket['history']>[2]) =>
    market.history(type, zone, period);
  const endMs = Date.UTC(2026, 5, 1);
  const firstMs = endMs - 4 * spotStepMs;
  const prices = history({ startMs: firstMs, endMs, stepsMax: 100 });
  const since = prices.map(({ sinceMs }) => sinceMs);
  expect(since).toEqual(since.toSorted((a, b) => b - a));
  expect(since).toHaveLength(5);
  expect(since.at(-1)).toBeLessThanOrEqual(firstMs);
  const two = history({ startMs: firstMs, endMs, stepsMax: 2 });
  expect(two).toEqual(prices.slice(0, 2));
});

test('prices that stand still stay as they were, and the history before them too', () => {
  const [market, moves] = [new SpotMarket('seed'), new SpotMarket('seed')];
  market.stand(startMs);
  const laterMs = startMs + 10 * spotStepMs;
  expect(market.priceAt(type, zone, laterMs)).toEqual(moves.priceAt(type, zone, startMs));
  expect(market.priceAt(type, zone, startMs - 1)).toEqual(moves.priceAt(type, zone, startMs - 1));
});
