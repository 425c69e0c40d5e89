import { leastOf } from '@dovetail/core-cluster';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { lookUp, put } from '@dovetail/core-invariant';
import type { Resources } from '@dovetail/core-kube-model';
import type { BinOption, Reason } from '@dovetail/core-scheduling';

import { reason } from './reason.js';

/** The options that a filter left, or the reason why it left none. */
export type OptionsLeft =
  | { readonly ok: true; readonly options: readonly BinOption[] }
  | { readonly ok: false; readonly reason: Reason };

/** The options that pass; the same list when all do, so that bins go on sharing it. */
function passing(
  options: readonly BinOption[],
  test: (option: BinOption) => boolean,
): readonly BinOption[] {
  const left = options.filter(test);
  return left.length === options.length ? options : left;
}

/** Keeps the options whose offering is available now. */
export function availableNow(
  options: readonly BinOption[],
  types: ReadonlyMap<string, InstanceType>,
): OptionsLeft {
  const left = passing(
    options,
    (option) =>
      types
        .get(option.instanceType)
        ?.offerings.some(
          (offering) =>
            offering.available &&
            offering.zone === option.zone &&
            offering.capacityType === option.capacityType,
        ) === true,
  );
  if (left.length > 0) return { ok: true, options: left };
  const first = options[0];
  return {
    ok: false,
    reason: reason('no-offering', "none of the plan's options has capacity now", {
      options: options.length,
      cheapest:
        first === undefined ? '' : `${first.instanceType}/${first.zone}/${first.capacityType}`,
    }),
  };
}

/** Keeps the options that cost no more than the pool allows for one node. */
export function withinPriceCap(
  options: readonly BinOption[],
  pool: { readonly key: string; readonly maxPriceMicrosPerHour?: number },
): OptionsLeft {
  const most = pool.maxPriceMicrosPerHour;
  if (most === undefined) return { ok: true, options };
  const left = passing(options, (option) => option.priceMicrosPerHour <= most);
  if (left.length > 0) return { ok: true, options: left };
  return {
    ok: false,
    reason: reason(
      'price-cap',
      `the cheapest option costs more than ${pool.key} allows for one node`,
      { cheapest: options[0]?.priceMicrosPerHour ?? 0, max: most },
      { subject: pool.key },
    ),
  };
}

/** The rest of a pool's limits, and the least that later bins of the same plan need of it. */
export type LimitRoom = {
  readonly key: string;
  /** Only limited resources (`nodes` counts nodes). */
  readonly remaining: Resources;
  /** Sum over the later bins of the plan of their cheapest option's capacity. */
  readonly reservedForLater: Resources;
  readonly laterBins: number;
};

/**
 * Keeps the options that stay within the pool's limits, whichever EC2 picks. Options larger than
 * the cheapest may take a fair share of the spare room. Otherwise wide bins would use up a limit on
 * paper. Once a node is launched, its true size counts.
 */
export function withinLimits(
  options: readonly BinOption[],
  types: ReadonlyMap<string, InstanceType>,
  room: LimitRoom,
): OptionsLeft {
  const cheapest = options[0] === undefined ? undefined : types.get(options[0].instanceType);
  const left = passing(options, (option) => {
    const type = types.get(option.instanceType);
    return (
      type !== undefined &&
      Object.entries(room.remaining).every(
        ([name, remaining]) => amountOf(type, name) <= allowance(name, remaining, cheapest, room),
      )
    );
  });
  if (left.length > 0) return { ok: true, options: left };
  const [name = 'nodes'] = Object.keys(room.remaining)
    .filter(
      (each) =>
        cheapest === undefined || amountOf(cheapest, each) > (lookUp(room.remaining, each) ?? 0),
    )
    .sort();
  return {
    ok: false,
    reason: reason(
      'pool-limit',
      `${room.key} has ${lookUp(room.remaining, name) ?? 0} of ${name} left under its limits`,
      {
        resource: name,
        remaining: lookUp(room.remaining, name) ?? 0,
        needed: cheapest === undefined ? 0 : amountOf(cheapest, name),
      },
      { subject: room.key },
    ),
  };
}

function allowance(
  name: string,
  remaining: number,
  cheapest: InstanceType | undefined,
  room: LimitRoom,
): number {
  const least = cheapest === undefined ? 0 : amountOf(cheapest, name);
  const over = remaining - least - (lookUp(room.reservedForLater, name) ?? 0);
  return Math.min(remaining, least + Math.max(0, Math.floor(over / (room.laterBins + 1))));
}

/**
 * The amount of a limited resource that a node of this type takes; every node is one of `nodes`.
 */
export const amountOf = (type: InstanceType, resource: string): number =>
  resource === 'nodes' ? 1 : (lookUp(type.capacity, resource) ?? 0);

/** The largest amount that one of the options may take, by limited resource. */
export function largestUse(
  options: readonly BinOption[],
  types: ReadonlyMap<string, InstanceType>,
  limited: Iterable<string>,
): Resources {
  const largest: Record<string, number> = {};
  for (const name of limited) {
    put(
      largest,
      name,
      Math.max(
        0,
        ...options.map((option) => {
          const type = types.get(option.instanceType);
          return type === undefined ? 0 : amountOf(type, name);
        }),
      ),
    );
  }
  return largest;
}

/** The room that a node offers, whichever of these options it becomes. */
export const leastOffered = (
  options: readonly BinOption[],
  types: ReadonlyMap<string, InstanceType>,
): Resources =>
  leastOf(
    options.flatMap(({ instanceType }) => {
      const type = types.get(instanceType);
      return type === undefined ? [] : [type.allocatable];
    }),
  );
