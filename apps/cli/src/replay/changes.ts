import { type Pool, poolKey } from '@dovetail/core-api';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import type { PlanInput } from '@dovetail/core-scheduling';

/** Another price of some offerings. Zone and capacity type: any if absent. */
export type PriceChange = {
  readonly instanceType: string;
  readonly zone?: string;
  readonly capacityType?: string;
  readonly priceMicrosPerHour: number;
};

/** The things that are to differ from what was recorded. */
export type Changes = {
  readonly prices: readonly PriceChange[];
  readonly pools: readonly Pool[];
  /**
   * The types of another catalog. Types that were recorded get its prices, and those that it lacks
   * cannot be bought. Absent: prices stay.
   */
  readonly catalog?: readonly InstanceType[];
};

/** A change that changes nothing. The message names it, and what could be changed. */
export class IdleChange extends Error {
  override readonly name = 'IdleChange';
}

/**
 * The input with the changes: first the catalog, then prices. Throws IdleChange if a price or the
 * catalog belongs to no offering, or a pool to none that was recorded: the answer would be that
 * nothing changes.
 */
export function changed(input: PlanInput, { prices, pools, catalog }: Changes): PlanInput {
  const given = poolsByKey(input, pools);
  const used = new Set<PriceChange | typeof catalog>();
  const offeringOf = catalog === undefined ? undefined : offeringsIn(catalog);
  const priced = (type: InstanceType): InstanceType => ({
    ...type,
    offerings: type.offerings.map((offering) => {
      const other = offeringOf?.(type.name, offering);
      if (other !== undefined) used.add(catalog);
      const now = offeringOf === undefined ? offering : repriced(offering, other);
      const fitting = prices.filter((one) => isPriced(one, type.name, offering));
      for (const change of fitting) used.add(change);
      const { priceMicrosPerHour = now.priceMicrosPerHour } = fitting.at(-1) ?? {};
      return { ...now, priceMicrosPerHour };
    }),
  });
  const poolsNow = input.snapshot.pools.map((recorded) => {
    // Whether the pool was usable is the cluster's to know, and not the manifest's.
    const { ready, uid } = recorded.pool;
    const other = given.get(poolKey(recorded.pool.identity));
    const pool = other === undefined ? recorded.pool : { ...other, ready, uid };
    return { ...recorded, pool, instanceTypes: recorded.instanceTypes.map(priced) };
  });
  refuseIdle(prices, catalog, used);
  return { ...input, snapshot: { ...input.snapshot, pools: poolsNow } };
}

function poolsByKey(input: PlanInput, pools: readonly Pool[]): ReadonlyMap<string, Pool> {
  const known = input.snapshot.pools.map(({ pool }) => poolKey(pool.identity));
  const given = new Map(pools.map((pool) => [poolKey(pool.identity), pool]));
  for (const key of given.keys())
    if (!known.includes(key))
      throw new IdleChange(`-f has ${key}, and the plan had ${known.join(', ') || 'no pool'}`);
  return given;
}

const isPriced = (change: PriceChange, type: string, { zone, capacityType }: Offering): boolean =>
  change.instanceType === type &&
  (change.zone ?? zone) === zone &&
  (change.capacityType ?? capacityType) === capacityType;

/** Finds the offering of a catalog that is sold as this one. */
function offeringsIn(catalog: readonly InstanceType[]) {
  const types = new Map(catalog.map((type) => [type.name, type.offerings]));
  return (type: string, { zone, capacityType }: Offering): Offering | undefined =>
    types.get(type)?.find((one) => one.zone === zone && one.capacityType === capacityType);
}

/** An offering at the price of another catalog, which it cannot be bought without. */
const repriced = (offering: Offering, other: Offering | undefined): Offering =>
  other === undefined
    ? { ...offering, available: false }
    : {
        ...offering,
        priceMicrosPerHour: other.priceMicrosPerHour,
        available: offering.available && other.available,
      };

function refuseIdle(
  prices: readonly PriceChange[],
  catalog: Changes['catalog'],
  used: ReadonlySet<PriceChange | Changes['catalog']>,
): void {
  const idle = prices.find((change) => !used.has(change));
  if (idle !== undefined)
    throw new IdleChange(
      `--price names ${priceText(idle)}, and no pool of the plan had such an offering; write TYPE, TYPE/ZONE or TYPE/ZONE/CAPACITY-TYPE`,
    );
  if (catalog !== undefined && !used.has(catalog))
    throw new IdleChange(
      'the catalog has none of the offerings of the plan: name one of the same region, or a file with its zones',
    );
}

const priceText = ({ instanceType, zone, capacityType }: PriceChange): string =>
  [instanceType, zone, capacityType].filter((part) => part !== undefined).join('/');

/** Reads TYPE[/ZONE[/CAPACITY-TYPE]]=DOLLARS. Undefined: the text is no such thing. */
export function priceChangeOf(text: string): PriceChange | undefined {
  const [what = '', amount = '', ...rest] = text.split('=');
  const [instanceType = '', zone, capacityType, ...more] = what.split('/');
  const isWhole = rest.length === 0 && more.length === 0 && instanceType !== '';
  if (!isWhole || zone === '' || capacityType === '' || !/^\d*\.?\d+$/.test(amount))
    return undefined;
  const priceMicrosPerHour = Math.round(Number(amount) * 1e6);
  if (!Number.isSafeInteger(priceMicrosPerHour) || priceMicrosPerHour === 0) return undefined;
  return {
    instanceType,
    ...(zone === undefined ? {} : { zone }),
    ...(capacityType === undefined ? {} : { capacityType }),
    priceMicrosPerHour,
  };
}
