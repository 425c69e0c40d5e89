import { labels, type Pool } from '@dovetail/core-api';
import {
  admits,
  intersectRequirements,
  type Requirements,
  requirementsFromLabels,
  requirementsOf,
  type ValueSet,
} from '@dovetail/core-kube-model';

import type { InstanceType } from './instance-type.js';
import { instanceLabels } from './labels.js';

/** Whether instances share their host with other accounts, or not. */
export type Tenancy = 'default' | 'dedicated';

/** Karpenter's rule: the default, unless only dedicated is allowed. */
export function tenancyOf(requirements: Requirements): Tenancy {
  const set = requirements.get(instanceLabels.tenancy);
  if (set === undefined || admits(set, 'default')) return 'default';
  return admits(set, 'dedicated') ? 'dedicated' : 'default';
}

/** The tenancy of a pool's nodes, by its requirements and its labels. */
export const tenancyOfPool = (pool: Pick<Pool, 'requirements' | 'labels'>): Tenancy =>
  tenancyOf(
    intersectRequirements(requirementsOf(pool.requirements), requirementsFromLabels(pool.labels)),
  );

type ByName = ReadonlyMap<string, InstanceType>;

// Users tell by identity whether types have changed.
const dedicatedOf = new WeakMap<ByName, ByName>();

/**
 * The types as a pool of that tenancy buys them. On dedicated hosts they cost their own price and
 * are not sold as Spot, for which AWS states no such price. Types whose dedicated price is not
 * known stay as they are, so that they do not meet the pool's requirement.
 */
export function withTenancy(types: ByName, tenancy: Tenancy): ByName {
  if (tenancy === 'default') return types;
  const known = dedicatedOf.get(types);
  if (known !== undefined) return known;
  const made = new Map([...types].map(([name, type]) => [name, dedicated(type)]));
  dedicatedOf.set(types, made);
  return made;
}

function dedicated(type: InstanceType): InstanceType {
  const price = type.dedicatedPrice;
  if (price === undefined) return type;
  const offerings = type.offerings
    .filter(({ capacityType }) => capacityType === 'on-demand')
    .map((offering) => ({
      ...offering,
      priceMicrosPerHour: price.micros,
      priceEstimated: price.estimated,
    }));
  return { ...type, requirements: onDedicatedHosts(type.requirements), offerings };
}

const onDedicatedHosts = (requirements: Requirements): Requirements =>
  new Map(requirements)
    .set(instanceLabels.tenancy, oneOf('dedicated'))
    .set(labels.capacityType, oneOf('on-demand'));

const oneOf = (value: string): ValueSet => ({
  kind: 'in',
  values: new Set([value]),
  present: true,
});
