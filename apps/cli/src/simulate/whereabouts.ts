import { existsSync } from 'node:fs';

import { catalogRegions, catalogZones } from '@dovetail/core-ec2-model';
import { recordOf } from '@dovetail/core-kube-model';

import { InputError } from '../manifests/input-error.js';
import type { Inventory } from './kinds.js';

/** The flags and the environment that say where nodes would be. */
export type WhereaboutsRequest = {
  /** A file of types, or a region. */
  readonly catalog?: string;
  readonly region?: string;
  /** The zones of classes whose status has no subnets. */
  readonly zones?: readonly string[];
  /** The region of the environment (AWS_REGION). */
  readonly environmentRegion?: string;
};

/** Where nodes would be: the catalog and, for classes without subnets, the zones. */
export type Whereabouts = {
  /** A file of types, or a region. */
  readonly catalog: string;
  readonly zones?: readonly string[];
  /** Why this region counts, if nothing of the input and no flag says so. */
  readonly assumed?: string;
};

/** Without any hint: the region whose types and prices the bundled catalog knows best. */
const regionByDefault = 'us-east-1';

const regionOf = (zone: string): string | undefined =>
  catalogRegions().find((region) => catalogZones(region).some(({ name }) => name === zone));

/** The zones of the subnets that the classes of the input carry in their status. */
const zonesOfClasses = (inventory: Inventory): readonly string[] =>
  ['EC2NodeClass', 'AWSNodeTemplate'].flatMap((kind) =>
    inventory.of(kind).flatMap(({ object }) => {
      const { subnets } = recordOf(object['status']);
      return (Array.isArray(subnets) ? subnets : []).map((one) => String(recordOf(one)['zone']));
    }),
  );

/** The region or file that a flag names; undefined if none does. Throws InputError for both. */
function named({ catalog, region, zones }: WhereaboutsRequest): string | undefined {
  if (catalog !== undefined && region !== undefined && catalog !== region)
    throw new InputError(
      `--region ${region} and --catalog ${catalog} exclude each other: leave one of them out`,
    );
  if (catalog !== undefined && zones !== undefined && existsSync(catalog))
    throw new InputError(
      `--zones ${zones.join(',')} does nothing beside a catalog file, which has zones of its own: leave it out`,
    );
  return catalog ?? region;
}

/** Throws InputError unless the region has the zones. */
function checkZones(region: string, zones: readonly string[]): void {
  if (!catalogRegions().includes(region)) return;
  const known = catalogZones(region).map(({ name }) => name);
  const unknown = zones.find((zone) => !known.includes(zone));
  if (unknown !== undefined)
    throw new InputError(
      `--zones ${unknown} is no zone of ${region} that the catalog knows: write some of ${known.join(', ')}`,
    );
}

/**
 * The region and the zones: those of the flags, else the region of the zones that the flags or the
 * classes' status name, else that of the environment. Throws InputError for flags that exclude each
 * other and for zones that do not exist.
 */
export function whereaboutsOf(request: WhereaboutsRequest, inventory: Inventory): Whereabouts {
  const { zones, environmentRegion } = request;
  const certain =
    named(request) ??
    [...(zones ?? []), ...zonesOfClasses(inventory)].map(regionOf).find((one) => one !== undefined);
  const catalog = certain ?? environmentRegion ?? regionByDefault;
  if (zones !== undefined) checkZones(catalog, zones);
  return {
    catalog,
    ...(zones === undefined ? {} : { zones }),
    ...(certain !== undefined
      ? {}
      : { assumed: environmentRegion === undefined ? 'by default' : 'from AWS_REGION' }),
  };
}

/**
 * Says which region and zones were assumed, in a line; nothing if all are known. `zones` are those
 * that classes without subnets got.
 */
export function assumptionOf(
  { catalog, assumed, zones: given }: Whereabouts,
  zones: readonly string[],
): readonly string[] {
  const isAssumed = zones.length > 0 && given === undefined;
  const region = assumed === undefined ? '' : `the region ${catalog} is assumed ${assumed}`;
  if (region === '' && !isAssumed) return [];
  if (!isAssumed) return [`${region}: name yours with --region`];
  const list = zones.join(', ');
  return region === ''
    ? [`classes without subnets get every zone of ${catalog} (${list}): name yours with --zones`]
    : [
        `${region}, and classes without subnets get its zones ${list}: name yours with --region and --zones`,
      ];
}
