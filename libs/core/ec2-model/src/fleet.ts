import type { FleetRequest, Subnet } from './cloud-values.js';
import type { InstanceType, Offering } from './instance-type.js';
import { compareCodeUnits } from './order.js';

export type FleetConfig = FleetRequest['configs'][number];

/** EC2 takes no more overrides in one request, over all its launch templates. */
export const fleetOverridesMax = 300;

export type FleetInput = {
  /** Types with only the offerings that may be bought, cheapest first, as `chooseForLaunch` answers them. */
  readonly types: readonly InstanceType[];
  readonly subnets: readonly Subnet[];
  /** The launch template of each type, by name. */
  readonly templates: ReadonlyMap<string, string>;
};

/**
 * The overrides of a CreateFleet: each type in each zone through the subnet of that zone with most free addresses, by
 * launch template. Templates stand in the order of their first type; a zone without a subnet, or a type without a
 * template, gives none. What passes EC2's limit is left out from the dear end.
 */
export function fleetConfigs({ types, subnets, templates }: FleetInput): readonly FleetConfig[] {
  const subnetOf = roomiestSubnets(subnets);
  const configs = new Map<string, FleetConfig['overrides'][number][]>();
  let room = fleetOverridesMax;
  for (const type of types) {
    const template = templates.get(type.name);
    if (template === undefined) continue;
    const overrides = type.offerings.flatMap((offering) => overrideOf(type, offering, subnetOf)).slice(0, room);
    room -= overrides.length;
    if (overrides.length > 0) configs.set(template, [...(configs.get(template) ?? []), ...overrides]);
  }
  return [...configs].map(([launchTemplateName, overrides]) => ({ launchTemplateName, overrides }));
}

const overrideOf = (type: InstanceType, offering: Offering, subnetOf: ReadonlyMap<string, Subnet>): readonly FleetConfig['overrides'][number][] => {
  const subnet = subnetOf.get(offering.zone);
  return subnet === undefined ? [] : [{ instanceType: type.name, subnetId: subnet.id, zone: offering.zone }];
};

/** Per zone the subnet with most free addresses, ties by id. An exhausted one is used only where there is no other: EC2 then says so. */
export function roomiestSubnets(subnets: readonly Subnet[]): ReadonlyMap<string, Subnet> {
  const best = new Map<string, Subnet>();
  for (const subnet of [...subnets].sort((a, b) => b.freeAddresses - a.freeAddresses || compareCodeUnits(a.id, b.id))) {
    if (!best.has(subnet.zone)) best.set(subnet.zone, subnet);
  }
  return best;
}
