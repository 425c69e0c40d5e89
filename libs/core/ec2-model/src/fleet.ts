import { assert } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';

import type { FleetRequest, Subnet } from './cloud-values.js';
import type { InstanceType, Offering } from './instance-type.js';

/** A launch template and its overrides in a CreateFleet request. */
export type FleetConfig = FleetRequest['configs'][number];

/** EC2's limit of overrides in one CreateFleet request, over all its launch templates. */
export const fleetOverridesMax = 300;

/** The parts of a fleet request that are chosen for a claim. */
export type FleetInput = {
  /**
   * Types, cheapest first, with only the offerings that may be bought: the answer of
   * `chooseForLaunch`.
   */
  readonly types: readonly InstanceType[];
  readonly subnets: readonly Subnet[];
  /** The launch template of each type, by name. */
  readonly templates: ReadonlyMap<string, string>;
};

/**
 * The overrides of a CreateFleet by launch template: each type in each zone, in that zone's subnet
 * with the most free addresses. Templates stand in the order of their first type. A zone without a
 * subnet, or a type without a template, has no override. The dearest overrides beyond EC2's limit
 * are dropped.
 */
export function fleetConfigs({ types, subnets, templates }: FleetInput): readonly FleetConfig[] {
  const subnetOf = roomiestSubnets(subnets);
  const configs = new Map<string, FleetConfig['overrides'][number][]>();
  let room = fleetOverridesMax;
  for (const type of types) {
    const template = templates.get(type.name);
    if (template === undefined) continue;
    const overrides = type.offerings
      .flatMap((offering) => overrideOf(type, offering, subnetOf))
      .slice(0, room);
    room -= overrides.length;
    assert(room >= 0, 'a fleet request holds no more overrides than EC2 takes');
    if (overrides.length > 0)
      configs.set(template, [...(configs.get(template) ?? []), ...overrides]);
  }
  return [...configs].map(([launchTemplateName, overrides]) => ({ launchTemplateName, overrides }));
}

const overrideOf = (
  type: InstanceType,
  offering: Offering,
  subnetOf: ReadonlyMap<string, Subnet>,
): readonly FleetConfig['overrides'][number][] => {
  const subnet = subnetOf.get(offering.zone);
  return subnet === undefined
    ? []
    : [{ instanceType: type.name, subnetId: subnet.id, zone: offering.zone }];
};

/**
 * The subnet with the most free addresses in each zone, ties by id. An exhausted one is used only
 * if its zone has no other.
 */
export function roomiestSubnets(subnets: readonly Subnet[]): ReadonlyMap<string, Subnet> {
  const best = new Map<string, Subnet>();
  for (const subnet of [...subnets].sort(
    (a, b) => b.freeAddresses - a.freeAddresses || compareText(a.id, b.id),
  )) {
    if (!best.has(subnet.zone)) best.set(subnet.zone, subnet);
  }
  return best;
}
