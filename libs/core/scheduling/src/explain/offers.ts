import { poolKey } from '@dovetail/core-api';
import { instanceLabels, type InstanceType, tenancyOf } from '@dovetail/core-ec2-model';
import { present } from '@dovetail/core-invariant';
import {
  compareText,
  describeSet,
  type Requirements,
  type ValueSet,
} from '@dovetail/core-kube-model';

import { intersects } from '../model/daemons.js';
import type { Template } from '../model/templates.js';
import { admitsOffering } from '../model/type-rooms.js';
import type { Reason } from '../reasons.js';
import type { Engine } from '../rooms/engine.js';
import { closestOffered } from './hints.js';

const dollars = (micros: number): string =>
  `$${(micros / 1_000_000).toFixed(6).replace(/0{1,4}$/, '')}/h`;

/** Returns a reason that concerns all of so many types of a pool. */
function ofAll(
  template: Template,
  types: number,
  rest: Omit<Reason, 'subject' | 'fell' | 'values'> & { readonly values?: Reason['values'] },
): Reason {
  return {
    subject: template.key,
    values: { types: String(types) },
    fell: { count: types, of: types },
    ...rest,
  };
}

const noTypes = (template: Template): Reason =>
  ofAll(template, 0, {
    code: 'no-offering',
    message: `the node class of ${template.key} can boot no instance type`,
    remedy: `give the node class of ${template.key} subnets and images`,
  });

const valuesOf = (types: readonly InstanceType[], key: string): readonly string[] =>
  [...new Set(types.flatMap((type) => [...(type.requirements.get(key)?.values ?? [])]))].sort();

/** The first requirement, by key, that no type meets; undefined if each is met by some type. */
function unmetKey(
  types: readonly InstanceType[],
  requirements: Requirements,
): readonly [key: string, set: ValueSet] | undefined {
  return [...requirements]
    .sort(([a], [b]) => compareText(a, b))
    .find(
      ([key, set]) => !types.some((type) => intersects(type.requirements, new Map([[key, set]]))),
    );
}

function noneAdmitted(template: Template, types: readonly InstanceType[]): Reason {
  const message = `${template.key} admits none of the ${types.length} types that its class can boot`;
  const [key, set] = unmetKey(types, template.requirements) ?? [];
  if (key === undefined || set === undefined)
    return ofAll(template, types.length, {
      code: 'no-offering',
      message: `${message}: each requirement has some types, and no type has all`,
      remedy: `widen the requirements of ${template.key}`,
    });
  if (key === instanceLabels.tenancy && tenancyOf(template.requirements) === 'dedicated')
    return noDedicatedPrice(template, types, message);
  const offered = describeSet({ kind: 'in', values: new Set(valuesOf(types, key)), present: true });
  const wanted = describeSet(set);
  const meant = closestOffered({ key, wanted, offered }, valuesOf(types, key));
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  return ofAll(template, types.length, {
    code: 'no-offering',
    values: { types: String(types.length), key, wanted, offered },
    message: `${message}: it wants ${key} ${wanted}, they have ${offered}${hint}`,
    remedy: `widen ${key} of ${template.key}`,
  });
}

/** A type meets the tenancy of its pool only with a price of dedicated hosts (`withTenancy`). */
const noDedicatedPrice = (
  template: Template,
  types: readonly InstanceType[],
  message: string,
): Reason =>
  ofAll(template, types.length, {
    code: 'no-offering',
    values: { types: String(types.length), key: instanceLabels.tenancy, wanted: 'dedicated' },
    message: `${message}: it wants dedicated hosts, and no price of dedicated hosts is known for these types`,
    remedy: `let ${template.key} use ${instanceLabels.tenancy} default; prices of dedicated hosts come from the Pricing API, and the bundled catalog has none`,
  });

const noneAvailable = (template: Template, matching: number): Reason =>
  ofAll(template, matching, {
    code: 'no-capacity',
    message: `no type of ${template.key} can be bought now: out of capacity, without a subnet or without a price`,
    remedy: `let ${template.key} use more types, zones or capacity types`,
  });

const aboveCap = (
  template: Template,
  available: number,
  { cap, cheapest }: { readonly cap: number; readonly cheapest: number },
): Reason =>
  ofAll(template, available, {
    code: 'price-cap',
    values: { cap: String(cap), cheapest: String(cheapest) },
    message: `every type of ${template.key} costs more than its cap of ${dollars(cap)}; the cheapest is ${dollars(cheapest)}`,
    remedy: `raise the cap of ${template.key} to ${dollars(cheapest)}`,
  });

const tooDear = (
  template: Template,
  available: number,
  { below, cheapest }: { readonly below: number; readonly cheapest: number },
): Reason =>
  ofAll(template, available, {
    code: 'price-cap',
    values: { below: String(below), cheapest: String(cheapest) },
    message: `no type of ${template.key} costs less than ${dollars(below)}; the cheapest is ${dollars(cheapest)}`,
  });

const onlyDaemons = (template: Template, available: number): Reason =>
  ofAll(template, available, {
    code: 'daemonset-overhead',
    message: `daemonsets alone do not fit on any of the ${available} types of ${template.key}`,
    remedy: `let ${template.key} use larger types, or make the daemonsets smaller`,
  });

/**
 * Returns the prices at which a type can be bought now in a zone and capacity type that the pool
 * admits.
 */
const pricesOf = (type: InstanceType, template: Template): readonly number[] =>
  type.offerings
    .filter((one) => one.available && admitsOffering(template.requirements, one))
    .map((one) => one.priceMicrosPerHour);

/** Returns the reason why a pool has no offers: the first check that excludes its last type. */
export function noOfferReason(engine: Engine, template: Template): Reason {
  const { instanceTypes, priceBelowMicrosPerHour: below } = present(
    engine.world.snapshot.pools.find(({ pool }) => poolKey(pool.identity) === template.key),
    'a template is made of a pool of the snapshot',
  );
  if (instanceTypes.length === 0) return noTypes(template);
  const matching = instanceTypes.filter((type) =>
    intersects(type.requirements, template.requirements),
  );
  if (matching.length === 0) return noneAdmitted(template, instanceTypes);
  const available = matching.filter((type) => pricesOf(type, template).length > 0);
  if (available.length === 0) return noneAvailable(template, matching.length);
  const cheapest = Math.min(...available.flatMap((type) => pricesOf(type, template)));
  const cap = template.pool.maxPriceMicrosPerHour;
  if (cap !== undefined && cheapest > cap)
    return aboveCap(template, available.length, { cap, cheapest });
  return below !== undefined && cheapest >= below
    ? tooDear(template, available.length, { below, cheapest })
    : onlyDaemons(template, available.length);
}
