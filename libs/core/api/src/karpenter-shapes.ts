import { lookUp } from '@dovetail/core-invariant';
import { parseDurationMs, recordOf } from '@dovetail/core-kube-model';

import { mapHash, numberHash, setHash, structHash, textHash } from './structure-hash.js';

/** Hashes one value of an object as Karpenter's Go type for it is hashed. */
type ValueHash = (raw: unknown) => bigint;

/** A field of a Go struct: its name there, its name in JSON, its value's hash. */
type FieldShape = {
  readonly go: string;
  readonly json: string;
  readonly hash: ValueHash;
  /** Whether a present value is left out too. Absent and null always are. */
  readonly skips: (raw: unknown) => boolean;
};

const textOf = (raw: unknown): string =>
  typeof raw === 'string' ? raw : (JSON.stringify(raw) ?? '');
const text: ValueHash = (raw) => textHash(textOf(raw));
const flag: ValueHash = (raw) => numberHash(raw === true ? 1n : 0n, 1);
const whole =
  (width: 4 | 8): ValueHash =>
  (raw) =>
    numberHash(BigInt(Math.trunc(Number(raw))), width);
const nanoseconds = (raw: unknown): bigint =>
  BigInt(parseDurationMs(textOf(raw)) ?? 0) * 1_000_000n;
const duration: ValueHash = (raw) =>
  structHash(
    'Duration',
    nanoseconds(raw) === 0n ? [] : [['Duration', numberHash(nanoseconds(raw), 8)]],
  );
const lifetime: ValueHash = (raw) =>
  structHash('NillableDuration', [['Duration', numberHash(nanoseconds(raw), 8)]]);

/**
 * Writes a volume's size as Kubernetes does, in the largest unit that leaves it whole: `1024Gi` is
 * `1Ti`. The schema of EC2NodeClass allows these four units only.
 */
function sizeText(written: string): string {
  const [, digits, unit = ''] = /^([0-9]+)(Gi|G)$/.exec(written) ?? [];
  const step = unit === 'Gi' ? 1024 : 1000;
  const amount = Number(digits);
  return digits === undefined || amount === 0 || amount % step !== 0
    ? written
    : `${String(amount / step)}${unit === 'Gi' ? 'Ti' : 'T'}`;
}
const size: ValueHash = (raw) => textHash(sizeText(textOf(raw)));

const map =
  (value: ValueHash): ValueHash =>
  (raw) =>
    mapHash(Object.entries(recordOf(raw)).map(([key, one]) => [key, value(one)]));
const list =
  (item: ValueHash): ValueHash =>
  (raw) =>
    setHash((Array.isArray(raw) ? raw : []).map(item));
const struct =
  (typeName: string, fields: readonly FieldShape[]): ValueHash =>
  (raw) => {
    const record = recordOf(raw);
    return structHash(
      typeName,
      fields.flatMap(({ go, json, hash, skips }) => {
        const value = lookUp(record, json);
        return value === undefined || value === null || skips(value)
          ? []
          : [[go, hash(value)] as const];
      }),
    );
  };

/** A pointer, list or map in Go: any present value counts, zero and empty too. */
const pointer = (go: string, json: string, hash: ValueHash): FieldShape => ({
  go,
  json,
  hash,
  skips: () => false,
});
/** A plain value in Go: its zero is the same as its absence. */
const plain = (go: string, json: string, hash: ValueHash): FieldShape => ({
  go,
  json,
  hash,
  skips: (raw) => raw === '' || raw === 0 || raw === false,
});

const taint = struct('Taint', [
  plain('Key', 'key', text),
  plain('Value', 'value', text),
  plain('Effect', 'effect', text),
]);
const metadata = [
  pointer('Labels', 'labels', map(text)),
  pointer('Annotations', 'annotations', map(text)),
];
const metadataHash = struct('ObjectMeta', metadata);
const isUnset = (raw: unknown): boolean => raw === undefined || raw === null;
const claimSpec = struct('NodeClaimTemplateSpec', [
  pointer('Taints', 'taints', list(taint)),
  pointer('StartupTaints', 'startupTaints', list(taint)),
  pointer(
    'NodeClassRef',
    'nodeClassRef',
    struct('NodeClassReference', [
      plain('Kind', 'kind', text),
      plain('Name', 'name', text),
      plain('Group', 'group', text),
    ]),
  ),
  pointer('TerminationGracePeriod', 'terminationGracePeriod', duration),
  { go: 'ExpireAfter', json: 'expireAfter', hash: lifetime, skips: (raw) => raw === 'Never' },
]);

/** Hashes `spec.template` of a NodePool. */
export const templateShape = struct('NodeClaimTemplate', [
  {
    go: 'ObjectMeta',
    json: 'metadata',
    hash: metadataHash,
    skips: (raw) => metadata.every(({ json }) => isUnset(lookUp(recordOf(raw), json))),
  },
  {
    go: 'Spec',
    json: 'spec',
    hash: claimSpec,
    skips: (raw) =>
      Object.entries(recordOf(raw)).every(
        ([json, one]) => isUnset(one) || (json === 'expireAfter' && one === 'Never'),
      ),
  },
]);

const volume = struct('BlockDevice', [
  pointer('DeleteOnTermination', 'deleteOnTermination', flag),
  pointer('Encrypted', 'encrypted', flag),
  pointer('IOPS', 'iops', whole(8)),
  pointer('KMSKeyID', 'kmsKeyID', text),
  pointer('SnapshotID', 'snapshotID', text),
  pointer('Throughput', 'throughput', whole(8)),
  pointer('VolumeInitializationRate', 'volumeInitializationRate', whole(4)),
  pointer('VolumeSize', 'volumeSize', size),
  pointer('VolumeType', 'volumeType', text),
]);
const device = struct('BlockDeviceMapping', [
  pointer('DeviceName', 'deviceName', text),
  pointer('EBS', 'ebs', volume),
  plain('RootVolume', 'rootVolume', flag),
]);
const networkInterface = struct('NetworkInterface', [
  plain('NetworkCardIndex', 'networkCardIndex', whole(4)),
  plain('DeviceIndex', 'deviceIndex', whole(4)),
  plain('InterfaceType', 'interfaceType', text),
]);
const metadataOptions = struct('MetadataOptions', [
  pointer('HTTPEndpoint', 'httpEndpoint', text),
  pointer('HTTPProtocolIPv6', 'httpProtocolIPv6', text),
  pointer('HTTPPutResponseHopLimit', 'httpPutResponseHopLimit', whole(8)),
  pointer('HTTPTokens', 'httpTokens', text),
]);
const tracking = struct('ConnectionTracking', [
  pointer('TCPEstablishedTimeout', 'tcpEstablishedTimeout', whole(4)),
  pointer('UDPStreamTimeout', 'udpStreamTimeout', whole(4)),
  pointer('UDPTimeout', 'udpTimeout', whole(4)),
]);

/**
 * Hashes `spec` of an EC2NodeClass, without its kubelet, which Karpenter hashes as text, and
 * without what its nodes are compared with by value.
 */
export const classShape = struct('EC2NodeClassSpec', [
  pointer(
    'PlacementGroupSelector',
    'placementGroupSelector',
    struct('PlacementGroupSelector', [pointer('Name', 'name', text), pointer('ID', 'id', text)]),
  ),
  pointer('AssociatePublicIPAddress', 'associatePublicIPAddress', flag),
  pointer('UserData', 'userData', text),
  plain('Role', 'role', text),
  pointer('InstanceProfile', 'instanceProfile', text),
  pointer('Tags', 'tags', map(text)),
  pointer('BlockDeviceMappings', 'blockDeviceMappings', list(device)),
  pointer('InstanceStorePolicy', 'instanceStorePolicy', text),
  pointer('NetworkInterfaces', 'networkInterfaces', list(networkInterface)),
  pointer('DetailedMonitoring', 'detailedMonitoring', flag),
  pointer('MetadataOptions', 'metadataOptions', metadataOptions),
  pointer(
    'EnclaveOptions',
    'enclaveOptions',
    struct('EnclaveOptions', [plain('Enabled', 'enabled', flag)]),
  ),
  pointer('ConnectionTracking', 'connectionTracking', tracking),
  pointer('Context', 'context', text),
  pointer(
    'CPUOptions',
    'cpuOptions',
    struct('CPUOptions', [pointer('NestedVirtualization', 'nestedVirtualization', text)]),
  ),
]);
