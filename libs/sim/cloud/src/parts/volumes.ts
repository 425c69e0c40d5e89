import { lookUp } from '@dovetail/core-invariant';
import type { Ec2Filter } from '@dovetail/core-ports';

import { notFound } from '../foundation/aws-fault.js';
import { hexOf } from '../foundation/digest.js';
import { admitted, tagFilterValues } from '../foundation/filters.js';
import type { Candidate } from './candidates.js';
import type { FleetInput } from './fleet-request.js';
import type { Instances, TwinInstance } from './instances.js';
import { templateTags } from './launch-access.js';

type Tags = Readonly<Record<string, string>>;

/** A volume that an instance is launched with. */
export type LaunchedVolume = {
  readonly device: string;
  readonly sizeGib: number;
  readonly type: string;
  readonly encrypted: boolean;
  readonly iops?: number;
  readonly throughput?: number;
  readonly deleteOnTermination: boolean;
};

/** A volume that is attached to an instance. It ends with the instance. */
export type TwinVolume = LaunchedVolume & {
  readonly id: string;
  readonly instance: TwinInstance;
  readonly tags: Tags;
};

/** The size of an image's root volume if the launch template names none. */
const rootGib = (candidate: Candidate): number =>
  candidate.image.family === 'Bottlerocket' ? 4 : 20;

function volumeFrom(device: string, ebs: Tags, candidate: Candidate): LaunchedVolume {
  const numberAt = (name: string): number | undefined =>
    lookUp(ebs, name) === undefined ? undefined : Number(lookUp(ebs, name));
  const [iops, throughput] = [numberAt('Iops'), numberAt('Throughput')];
  return {
    device,
    sizeGib: numberAt('VolumeSize') ?? rootGib(candidate),
    type: ebs['VolumeType'] ?? 'gp3',
    encrypted: ebs['Encrypted'] === 'true',
    ...(iops === undefined ? {} : { iops }),
    ...(throughput === undefined ? {} : { throughput }),
    deleteOnTermination: ebs['DeleteOnTermination'] !== 'false',
  };
}

/** The volumes of a launch: the image's root device, and the devices of the launch template. */
export function launchedVolumes(
  candidate: Candidate,
  request: Pick<FleetInput, 'volumeTags'>,
): { readonly volumes: readonly LaunchedVolume[]; readonly volumeTags: Tags } {
  const { content } = candidate.version;
  const devices = new Map<string, Tags>([[candidate.image.rootDeviceName, {}]]);
  for (const { deviceName, ebs } of content.blockDevices)
    if (ebs !== undefined) devices.set(deviceName, ebs);
  return {
    volumes: [...devices].map(([device, ebs]) => volumeFrom(device, ebs, candidate)),
    volumeTags: { ...templateTags(content, 'volume'), ...request.volumeTags },
  };
}

/** The volumes of an instance; none once it is terminated. */
export function volumesOf(instance: TwinInstance): readonly TwinVolume[] {
  if (instance.state === 'terminated') return [];
  return instance.volumes.map((volume) => {
    const id = `vol-${hexOf(17, instance.id, volume.device)}`;
    return { ...volume, id, instance, tags: instance.tagsByVolume.get(id) ?? instance.volumeTags };
  });
}

const filterNames: ReadonlySet<string> = new Set([
  'volume-id',
  'status',
  'availability-zone',
  'size',
  'volume-type',
  'encrypted',
  'attachment.instance-id',
  'attachment.device',
  'attachment.status',
]);

function filterValue(volume: TwinVolume, name: string): readonly string[] | undefined {
  switch (name) {
    case 'volume-id':
      return [volume.id];
    case 'status':
      return ['in-use'];
    case 'availability-zone':
      return [volume.instance.zone];
    case 'size':
      return [String(volume.sizeGib)];
    case 'volume-type':
      return [volume.type];
    case 'encrypted':
      return [String(volume.encrypted)];
    case 'attachment.instance-id':
      return [volume.instance.id];
    case 'attachment.device':
      return [volume.device];
    case 'attachment.status':
      return ['attached'];
    default:
      return tagFilterValues(volume.tags, name);
  }
}

/** The volume with this id, if its instance still has it. */
export const findVolume = (instances: Instances, id: string): TwinVolume | undefined =>
  instances
    .all()
    .flatMap(volumesOf)
    .find((volume) => volume.id === id);

/** The volumes that a query selects. Throws InvalidVolume.NotFound for an id that there is not. */
export function describeVolumes(
  instances: Instances,
  query: { readonly ids: readonly string[]; readonly filters: readonly Ec2Filter[] },
): readonly TwinVolume[] {
  const all = instances.describe({ filters: [] }).flatMap(volumesOf);
  const missing = query.ids.filter((id) => !all.some((volume) => volume.id === id));
  if (missing.length > 0) throw notFound('InvalidVolume.NotFound', 'volume', missing);
  const wanted =
    query.ids.length === 0 ? all : all.filter((volume) => query.ids.includes(volume.id));
  const valuesOf = (volume: TwinVolume) => (name: string) => filterValue(volume, name);
  return admitted(wanted, query.filters, valuesOf, filterNames);
}
