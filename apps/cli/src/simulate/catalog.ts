import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

import type { AmiFamily, KubeletConfiguration, NodeClass, ResolvedAmi } from '@dovetail/core-api';
import {
  catalogFor,
  catalogRegions,
  type CatalogZone,
  catalogZones,
  type InstanceType,
  instanceTypesFor,
  mergedKubelet,
  priceBookOf,
  type PriceQuote,
  type RegionKnowledge,
} from '@dovetail/core-ec2-model';

import { InputError } from '../manifests/input-error.js';
import { jsonErrorOffset } from '../manifests/json-position.js';
import { errorAt } from '../manifests/objects.js';
import { kwokTypes } from './kwok-catalog.js';

/** The source of instance types. */
export type Catalog = {
  readonly name: string;
  /** A file's types are the same for every class. A region's types depend on the class. */
  readonly kind: 'file' | 'region';
  /** The zones of classes whose status has no subnets; none of a file, which has its own. */
  readonly zones: readonly string[];
  typesFor(
    nodeClass: NodeClass,
    kubelet: KubeletConfiguration | undefined,
  ): readonly InstanceType[];
};

function bytesOf(file: string): Buffer {
  try {
    const bytes = readFileSync(file);
    return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
  } catch (error) {
    throw new InputError(
      'the catalog cannot be read: name a JSON file, or one compressed by gzip',
      { place: { file }, cause: error },
    );
  }
}

async function fileCatalog(file: string, wantsAwsLabels: boolean): Promise<Catalog> {
  const text = bytesOf(file).toString('utf8');
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    const line = text.slice(0, jsonErrorOffset(text)).split('\n').length;
    throw new InputError(
      "the catalog is not valid JSON: name a file in the KWOK provider's format",
      { place: { file, line }, cause: error },
    );
  }
  const types = kwokTypes(raw, { awsLabels: wantsAwsLabels });
  if (!types.ok)
    throw await errorAt({ document: { file, line: 1, text, value: raw }, path: '' }, types);
  return { name: file, kind: 'file', zones: [], typesFor: () => types.value };
}

/**
 * Images for every architecture and device, because an offline command cannot ask which ones exist.
 */
function anyImages(family: AmiFamily): readonly ResolvedAmi[] {
  const arches = family.startsWith('Windows')
    ? (['amd64'] as const)
    : (['amd64', 'arm64'] as const);
  return arches.flatMap((arch) =>
    (['standard', 'nvidia', 'neuron'] as const).map((variant) => ({
      id: `ami-${arch}`,
      name: arch,
      deprecated: false,
      arch,
      variant,
    })),
  );
}

/**
 * Facts, zones and published prices of a region, from the time when the catalog was made. Newer
 * prices win over its own.
 */
function knowledgeOf(region: string, newer: readonly PriceQuote[]): RegionKnowledge {
  const entries = catalogFor(region);
  const prices = entries.flatMap((entry) =>
    entry.onDemandPriceMicrosPerHour === undefined
      ? []
      : [
          {
            instanceType: entry.facts.name,
            capacityType: 'on-demand' as const,
            priceMicrosPerHour: entry.onDemandPriceMicrosPerHour,
            estimated: entry.estimated,
          },
        ],
  );
  return {
    region,
    facts: entries.map((entry) => entry.facts),
    zones: new Map(entries.map((entry) => [entry.facts.name, entry.zones])),
    prices: priceBookOf([...prices, ...newer]),
    isUnavailable: () => false,
  };
}

/**
 * The class as it would be in a cluster. If its status has none, it gets subnets in the zones, and
 * images.
 */
function resolved(
  nodeClass: NodeClass,
  kubelet: KubeletConfiguration | undefined,
  zones: readonly CatalogZone[],
): NodeClass {
  const { status, amiFamily } = nodeClass;
  const everyZone = zones.map((zone) => ({
    id: `subnet-${zone.id}`,
    zone: zone.name,
    zoneId: zone.id,
  }));
  return {
    ...nodeClass,
    kubelet: mergedKubelet(nodeClass.kubelet, kubelet),
    status: {
      ...status,
      subnets: status.subnets.length > 0 ? status.subnets : everyZone,
      amis: status.amis.length > 0 ? status.amis : anyImages(amiFamily),
    },
  };
}

/** Equal for classes that boot the same types. */
const typesKey = ({
  amiFamily,
  kubelet,
  blockDeviceMappings,
  instanceStorePolicy,
  status,
}: NodeClass) =>
  JSON.stringify([
    amiFamily,
    kubelet,
    blockDeviceMappings,
    instanceStorePolicy,
    status.subnets,
    status.amis,
  ]);

function regionCatalog(
  region: string,
  newer: readonly PriceQuote[],
  wanted: readonly string[] | undefined,
): Catalog {
  const zones = catalogZones(region).filter(({ name }) => wanted?.includes(name) ?? true);
  const knowledge = knowledgeOf(region, newer);
  const remembered = new Map<string, readonly InstanceType[]>();
  return {
    name: region,
    kind: 'region',
    zones: zones.map(({ name }) => name),
    typesFor: (nodeClass, kubelet) => {
      const whole = resolved(nodeClass, kubelet, zones);
      const key = typesKey(whole);
      const types = remembered.get(key) ?? instanceTypesFor(whole, knowledge).types;
      remembered.set(key, types);
      return types;
    },
  };
}

/**
 * The catalog that `--catalog` names: a file of that name if it exists, else a region of Dovetail's
 * own catalog. `wantsAwsLabels` means that the manifests use labels that a file does not have.
 * `newer` are prices of the region that win over the catalog's, and `zones` those of classes
 * without subnets (default: all). Throws InputError, with file, line and field, for an unreadable
 * catalog.
 */
export async function openCatalog(
  name: string,
  wantsAwsLabels: boolean,
  {
    newer = [],
    zones,
  }: { readonly newer?: readonly PriceQuote[]; readonly zones?: readonly string[] } = {},
): Promise<Catalog> {
  if (existsSync(name)) return await fileCatalog(name, wantsAwsLabels);
  if (catalogRegions().includes(name)) return regionCatalog(name, newer, zones);
  throw new InputError(
    `--catalog ${name} is neither a file nor a region that the catalog knows; regions are ${catalogRegions().join(', ')}`,
  );
}
