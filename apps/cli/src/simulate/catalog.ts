import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { AmiFamily, KubeletConfiguration, NodeClass, ResolvedAmi } from '@dovetail/core-api';
import { catalogFor, catalogRegions, catalogZones, instanceTypesFor, mergedKubelet, priceBookOf, type InstanceType, type RegionKnowledge } from '@dovetail/core-ec2-model';
import { InputError } from '../manifests/input-error.js';
import { jsonErrorOffset } from '../manifests/json-position.js';
import { errorAt } from '../manifests/objects.js';
import { kwokTypes } from './kwok-catalog.js';

/** Where instance types come from. */
export type Catalog = {
  readonly name: string;
  /** A file names types as any class boots them; a region's types depend on the class. */
  readonly kind: 'file' | 'region';
  typesFor(nodeClass: NodeClass, kubelet: KubeletConfiguration | undefined): readonly InstanceType[];
};

function bytesOf(file: string): Buffer {
  try {
    const bytes = readFileSync(file);
    return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
  } catch (error) {
    throw new InputError('the catalog cannot be read: name a JSON file, or one compressed by gzip', { place: { file }, cause: error });
  }
}

async function fileCatalog(file: string, wantsAwsLabels: boolean): Promise<Catalog> {
  const text = bytesOf(file).toString('utf8');
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    const line = text.slice(0, jsonErrorOffset(text)).split('\n').length;
    throw new InputError("the catalog is not valid JSON: name a file in the KWOK provider's format", { place: { file, line }, cause: error });
  }
  const types = kwokTypes(raw, wantsAwsLabels ? 'with-aws-labels' : 'plain');
  if (!types.ok) throw await errorAt({ document: { file, line: 1, text, value: raw }, path: '' }, types);
  return { name: file, kind: 'file', typesFor: () => types.value };
}

/** Images for every architecture and device, since offline nobody can ask which there are. */
function anyImages(family: AmiFamily): readonly ResolvedAmi[] {
  const arches = family.startsWith('Windows') ? ['amd64'] as const : ['amd64', 'arm64'] as const;
  return arches.flatMap((arch) => (['standard', 'nvidia', 'neuron'] as const).map((variant) => ({ id: `ami-${arch}`, name: arch, deprecated: false, arch, variant })));
}

function regionCatalog(region: string): Catalog {
  const entries = catalogFor(region);
  const zones = catalogZones(region);
  const knowledge: RegionKnowledge = {
    region, facts: entries.map((entry) => entry.facts), zones: new Map(entries.map((entry) => [entry.facts.name, entry.zones])),
    prices: priceBookOf(entries.flatMap((entry) => (entry.onDemandPriceMicrosPerHour === undefined ? [] : [{
      instanceType: entry.facts.name, capacityType: 'on-demand' as const, priceMicrosPerHour: entry.onDemandPriceMicrosPerHour, estimated: entry.estimated,
    }]))),
    isUnavailable: () => false,
  };
  const remembered = new Map<string, readonly InstanceType[]>();
  const typesFor: Catalog['typesFor'] = (nodeClass, kubelet) => {
    const subnets = nodeClass.status.subnets.length > 0 ? nodeClass.status.subnets : zones.map((zone) => ({ id: `subnet-${zone.id}`, zone: zone.name, zoneId: zone.id }));
    const amis = nodeClass.status.amis.length > 0 ? nodeClass.status.amis : anyImages(nodeClass.amiFamily);
    const whole: NodeClass = { ...nodeClass, kubelet: mergedKubelet(nodeClass.kubelet, kubelet), status: { ...nodeClass.status, subnets, amis } };
    const key = JSON.stringify([whole.amiFamily, whole.kubelet, whole.blockDeviceMappings, whole.instanceStorePolicy, subnets, amis]);
    const types = remembered.get(key) ?? instanceTypesFor(whole, knowledge).types;
    remembered.set(key, types);
    return types;
  };
  return { name: region, kind: 'region', typesFor };
}

/**
 * The catalog that `--catalog` names: a file if there is one of that name, else a region of Dovetail's own catalog.
 * Throws InputError, with file, line and field, for what cannot be read.
 * `wantsAwsLabels`: the manifests use labels that a file does not have.
 */
export async function openCatalog(name: string, wantsAwsLabels: boolean): Promise<Catalog> {
  if (existsSync(name)) return await fileCatalog(name, wantsAwsLabels);
  if (catalogRegions().includes(name)) return regionCatalog(name);
  throw new InputError(`--catalog ${name} is neither a file nor a region that the catalog knows; regions are ${catalogRegions().join(', ')}`);
}
