/** A Spot or on-demand pool: EC2's capacity of one type in one zone. */
export type Pool = {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: 'on-demand' | 'spot';
};

/** Sets the free places of every pool that fits. A field that is left out means any. */
export type CapacityOrder = {
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: 'on-demand' | 'spot';
  readonly free: number | 'unlimited';
};

/** A place that an instance took, released when the instance ends. */
export type Place = { release(): void };

/** Invariant: free >= 0. */
type Level = { free: number };
type Rule = { readonly order: CapacityOrder; readonly touched: Map<string, Level> };

const keyOf = (pool: Pool): string => `${pool.capacityType}:${pool.instanceType}:${pool.zone}`;

const fits = (order: CapacityOrder, pool: Pool): boolean =>
  (order.instanceType ?? pool.instanceType) === pool.instanceType &&
  (order.zone ?? pool.zone) === pool.zone &&
  (order.capacityType ?? pool.capacityType) === pool.capacityType;

const sameScope = (left: CapacityOrder, right: CapacityOrder): boolean =>
  left.instanceType === right.instanceType &&
  left.zone === right.zone &&
  left.capacityType === right.capacityType;

/**
 * The free places per pool, unlimited unless ordered otherwise. The latest order that fits a pool
 * holds for it. A place goes back only to the order it was taken under: an order of zero stays
 * zero.
 */
export class Capacity {
  #rules: Rule[] = [];

  set(order: CapacityOrder): void {
    if (order.free !== 'unlimited' && !(Number.isInteger(order.free) && order.free >= 0)) {
      throw new RangeError(
        `free: ${String(order.free)} is not a count of instances; give a whole number from 0, or 'unlimited'`,
      );
    }
    const others = this.#rules.filter((rule) => !sameScope(rule.order, order));
    this.#rules = [...others, { order, touched: new Map() }];
  }

  free(pool: Pool): number {
    return this.#levelOf(pool)?.free ?? Number.POSITIVE_INFINITY;
  }

  /** Takes one place; undefined when the pool is empty. */
  take(pool: Pool): Place | undefined {
    const level = this.#levelOf(pool);
    if (level === undefined) return { release: () => undefined };
    if (level.free === 0) return undefined;
    level.free -= 1;
    return {
      release: () => {
        level.free += 1;
      },
    };
  }

  #levelOf(pool: Pool): Level | undefined {
    const rule = this.#rules.findLast(({ order }) => fits(order, pool));
    if (rule === undefined || rule.order.free === 'unlimited') return undefined;
    const key = keyOf(pool);
    const level = rule.touched.get(key) ?? { free: rule.order.free };
    rule.touched.set(key, level);
    return level;
  }
}
