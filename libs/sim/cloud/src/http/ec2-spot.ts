import { at } from '@dovetail/core-invariant';

import type { TwinType } from '../foundation/account.js';
import { admitted, type FilterValues } from '../foundation/filters.js';
import { dollarsOf, type SpotPrice, spotStepMs } from '../foundation/prices.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import type { QueryOperations } from './operation.js';
import { offsetOf, pageSize, tokenOf } from './paging.js';
import { filtersOf, type Params } from './params.js';
import { items, timeText, type Xml } from './xml.js';

const products: ReadonlySet<string> = new Set(['Linux/UNIX', 'Linux/UNIX (Amazon VPC)']);
const filterNames: ReadonlySet<string> = new Set([
  'availability-zone',
  'instance-type',
  'product-description',
  'spot-price',
  'timestamp',
]);

/** EC2 keeps the prices of 90 days. */
const historyMs = 90 * 86_400_000;
/** The most prices that one pool has in that time: one a step, and the one in force before. */
const stepsMax = historyMs / spotStepMs + 1;
/**
 * A page ends early after so many prices were looked at, as EC2's pages may. So a filter that
 * admits little holds up no other caller.
 */
const lookedAtMax = 20_000;

type Pool = { readonly type: TwinType; readonly zone: string };

/** The pools of the request, by type and zone. Only Linux has prices here. */
function poolsOf(twin: CloudTwin, params: Params): readonly Pool[] {
  const names = new Set(params.texts('InstanceType'));
  const wanted = params.texts('ProductDescription');
  const only = params.text('AvailabilityZone');
  if (wanted.length > 0 && !wanted.some((product) => products.has(product))) return [];
  return twin.account.types
    .filter(({ facts }) => names.size === 0 || names.has(facts.name))
    .flatMap((type) =>
      type.zones
        .filter((zone) => only === undefined || zone === only)
        .map((zone) => ({ type, zone })),
    );
}

function periodOf(twin: CloudTwin, params: Params) {
  const endMs = params.timeMs('EndTime') ?? twin.timeline.nowMs();
  const firstMs = endMs - historyMs;
  const startMs = params.timeMs('StartTime') ?? firstMs;
  return { startMs: Math.min(Math.max(startMs, firstMs), endMs), endMs, stepsMax };
}

function valuesOf(price: SpotPrice): FilterValues {
  return (name) => {
    switch (name) {
      case 'availability-zone':
        return [price.zone];
      case 'instance-type':
        return [price.instanceType];
      case 'product-description':
        return ['Linux/UNIX'];
      case 'spot-price':
        return [dollarsOf(price.priceMicros)];
      default:
        return [timeText(price.sinceMs)];
    }
  };
}

/**
 * One page of prices by type and zone, newest first in each pool. Only the pools of the page are
 * computed, because 90 days of all pools are millions of prices. A token counts `stepsMax` places
 * for each pool before its own.
 */
function spotPage(
  twin: CloudTwin,
  params: Params,
): { readonly page: readonly SpotPrice[]; readonly nextToken?: string } {
  const [pools, period, filters] = [
    poolsOf(twin, params),
    periodOf(twin, params),
    filtersOf(params),
  ];
  const size = pageSize(params, { min: 1, max: 1000, default: 1000 });
  const from = offsetOf(params.text('NextToken'));
  const page: SpotPrice[] = [];
  let lookedAt = 0;
  let skip = from % stepsMax;
  for (let index = Math.floor(from / stepsMax); index < pools.length; index += 1) {
    if (lookedAt >= lookedAtMax) return { page, nextToken: tokenOf(index * stepsMax) };
    const { type, zone } = at(pools, index);
    const history = twin.market.history(type, zone, period);
    lookedAt += history.length;
    const left = admitted(history, filters, valuesOf, filterNames).slice(skip);
    const taken = left.slice(0, size - page.length);
    page.push(...taken);
    if (taken.length < left.length)
      return { page, nextToken: tokenOf(index * stepsMax + skip + taken.length) };
    skip = 0;
  }
  return { page };
}

function describeSpotPrices(twin: CloudTwin, params: Params): { readonly [element: string]: Xml } {
  const { page, nextToken } = spotPage(twin, params);
  return {
    spotPriceHistorySet: items(
      page.map((price) => ({
        instanceType: price.instanceType,
        productDescription: 'Linux/UNIX',
        spotPrice: dollarsOf(price.priceMicros),
        timestamp: timeText(price.sinceMs),
        availabilityZone: price.zone,
      })),
    ),
    nextToken: nextToken ?? '',
  };
}

/** The operations on Spot prices. */
export const ec2Spot: QueryOperations = { DescribeSpotPriceHistory: { run: describeSpotPrices } };
