/** A Spot or on-demand pool: what EC2 has of one type in one zone. */
export type Pool = { readonly instanceType: string; readonly zone: string; readonly capacityType: 'on-demand' | 'spot' };

/** Sets what is free now in every pool that fits; a field left out means any. */
export type CapacityOrder = { readonly instanceType?: string; readonly zone?: string; readonly capacityType?: 'on-demand' | 'spot'; readonly free: number | 'unlimited' };

/** A right to a place that an instance took, to be given back when it ends. */
export type Place = { release(): void };

/** What is free, per pool. Unlimited unless ordered otherwise. */
export type Capacity = {
  set(order: CapacityOrder): void;
  free(pool: Pool): number;
  /** Takes one place; undefined when the pool is empty. */
  take(pool: Pool): Place | undefined;
};

type Level = { free: number };
type Rule = { readonly order: CapacityOrder; readonly touched: Map<string, Level> };

const keyOf = (pool: Pool): string => `${pool.capacityType}:${pool.instanceType}:${pool.zone}`;

const fits = (order: CapacityOrder, pool: Pool): boolean =>
  (order.instanceType ?? pool.instanceType) === pool.instanceType
  && (order.zone ?? pool.zone) === pool.zone
  && (order.capacityType ?? pool.capacityType) === pool.capacityType;

const sameScope = (left: CapacityOrder, right: CapacityOrder): boolean =>
  left.instanceType === right.instanceType && left.zone === right.zone && left.capacityType === right.capacityType;

/** The latest order that fits a pool holds for it. Places go back only to the order they were taken under: "none" stays none. */
export function createCapacity(): Capacity {
  let rules: Rule[] = [];
  const levelOf = (pool: Pool): Level | undefined => {
    const rule = rules.findLast(({ order }) => fits(order, pool));
    if (rule === undefined || rule.order.free === 'unlimited') return undefined;
    const key = keyOf(pool);
    const level = rule.touched.get(key) ?? { free: rule.order.free };
    rule.touched.set(key, level);
    return level;
  };
  return {
    set(order) {
      if (order.free !== 'unlimited' && !(Number.isInteger(order.free) && order.free >= 0)) {
        throw new RangeError(`free: ${String(order.free)} is not a count of instances; give a whole number from 0, or 'unlimited'`);
      }
      rules = [...rules.filter((rule) => !sameScope(rule.order, order)), { order, touched: new Map() }];
    },
    free: (pool) => levelOf(pool)?.free ?? Number.POSITIVE_INFINITY,
    take(pool) {
      const level = levelOf(pool);
      if (level === undefined) return { release: () => undefined };
      if (level.free === 0) return undefined;
      level.free -= 1;
      return { release: () => { level.free += 1; } };
    },
  };
}
