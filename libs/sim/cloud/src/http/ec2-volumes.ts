import { catalogZones } from '@dovetail/core-ec2-model';
import { lookUp } from '@dovetail/core-invariant';

import { AwsFault } from '../foundation/aws-fault.js';
import { admitted } from '../foundation/filters.js';
import { describeVolumes, type TwinVolume } from '../parts/volumes.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import type { QueryOperations } from './operation.js';
import { pageOf } from './paging.js';
import { filtersOf, type Params } from './params.js';
import { items, tagItems, timeText, type Xml } from './xml.js';

type Result = { readonly [element: string]: Xml };

const volumeXml = (volume: TwinVolume): Xml => ({
  volumeId: volume.id,
  size: volume.sizeGib,
  snapshotId: '',
  availabilityZone: volume.instance.zone,
  status: 'in-use',
  createTime: timeText(volume.instance.launchedMs),
  attachmentSet: items([
    {
      volumeId: volume.id,
      instanceId: volume.instance.id,
      device: volume.device,
      status: 'attached',
      attachTime: timeText(volume.instance.launchedMs),
      deleteOnTermination: volume.deleteOnTermination,
    },
  ]),
  tagSet: tagItems(volume.tags),
  volumeType: volume.type,
  iops: volume.iops ?? (volume.type === 'gp3' ? 3_000 : undefined),
  throughput: volume.throughput ?? (volume.type === 'gp3' ? 125 : undefined),
  encrypted: volume.encrypted,
  multiAttachEnabled: false,
});

function volumes(twin: CloudTwin, params: Params): Result {
  const ids = params.texts('VolumeId');
  const found = describeVolumes(twin.instances, { ids, filters: filtersOf(params) });
  const { page, nextToken } = pageOf(found, params, { min: 5, max: 1000 });
  return { volumeSet: items(page.map(volumeXml)), nextToken };
}

type Zone = { readonly name: string; readonly id: string };

const zoneFilters: ReadonlySet<string> = new Set([
  'group-name',
  'opt-in-status',
  'region-name',
  'state',
  'zone-id',
  'zone-name',
  'zone-type',
]);

const zoneValues =
  (region: string, zone: Zone) =>
  (name: string): readonly string[] => {
    const values: Readonly<Record<string, string>> = {
      'group-name': `${region}-zg-1`,
      'opt-in-status': 'opt-in-not-required',
      'region-name': region,
      state: 'available',
      'zone-id': zone.id,
      'zone-name': zone.name,
      'zone-type': 'availability-zone',
    };
    return [lookUp(values, name) ?? ''];
  };

const zoneXml = (region: string, zone: Zone): Xml => ({
  zoneState: 'available',
  optInStatus: 'opt-in-not-required',
  messageSet: '',
  regionName: region,
  zoneName: zone.name,
  zoneId: zone.id,
  groupName: `${region}-zg-1`,
  networkBorderGroup: region,
  zoneType: 'availability-zone',
});

function zones({ account }: CloudTwin, params: Params): Result {
  const { region } = account;
  const [names, ids] = [params.texts('ZoneName'), params.texts('ZoneId')];
  params.flag('AllAvailabilityZones');
  const all = catalogZones(region);
  const missing =
    names.find((name) => !all.some((zone) => zone.name === name)) ??
    ids.find((id) => !all.some((zone) => zone.id === id));
  if (missing !== undefined)
    throw new AwsFault('InvalidParameterValue', `Invalid availability zone: [${missing}]`);
  const wanted = all.filter(
    ({ name, id }) =>
      (names.length === 0 || names.includes(name)) && (ids.length === 0 || ids.includes(id)),
  );
  const found = admitted(
    wanted,
    filtersOf(params),
    (zone) => zoneValues(region, zone),
    zoneFilters,
  );
  return { availabilityZoneInfo: items(found.map((zone) => zoneXml(region, zone))) };
}

/** The zones of the region, and the volumes of instances. */
export const ec2Volumes: QueryOperations = {
  DescribeAvailabilityZones: { run: zones },
  DescribeVolumes: { run: volumes },
};
