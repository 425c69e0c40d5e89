import type { Schema } from './schema.js';
import {
  described,
  fields,
  flag,
  int32,
  int64,
  listOf,
  mapOf,
  rules,
  text,
  words,
} from './schema.js';
import { conditions } from './schema.js';

const signals = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'pid.available',
];
const reservable = ['cpu', 'memory', 'ephemeral-storage', 'pid'];
const quoted = (names: readonly string[]): string =>
  `[${names.map((name) => `'${name}'`).join(', ')}]`;

// The API server estimates a rule's cost by the most entries that a map may have.
const few: Schema = { maxProperties: 20 };

const reserved = (name: string): Schema =>
  mapOf(text(), {
    ...few,
    ...rules(
      [
        `self.all(x, x in ${quoted(reservable)})`,
        `valid keys for ${name} are ${quoted(reservable)}`,
      ],
      [
        "self.all(x, !self[x].startsWith('-'))",
        `${name} value cannot be a negative resource quantity`,
      ],
    ),
  });
const eviction = (name: string): Schema =>
  mapOf(
    text({
      pattern: '^((\\d{1,2}(\\.\\d{1,2})?|100(\\.0{1,2})?)%|\\d+(\\.\\d+)?([KMGTPE]i?|[mkn])?)$',
    }),
    {
      ...few,
      ...rules([
        `self.all(x, x in ${quoted(signals)})`,
        `valid keys for ${name} are ${quoted(signals)}`,
      ]),
    },
  );
const percent = (): Schema => int32({ minimum: 0, maximum: 100 });

const kubeletRules = rules(
  [
    '!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent',
    'imageGCHighThresholdPercent must be greater than imageGCLowThresholdPercent',
  ],
  [
    '!has(self.evictionSoft) || self.evictionSoft.all(e, has(self.evictionSoftGracePeriod) && e in self.evictionSoftGracePeriod)',
    'evictionSoft OwnerKey does not have a matching evictionSoftGracePeriod',
  ],
  [
    '!has(self.evictionSoftGracePeriod) || self.evictionSoftGracePeriod.all(e, has(self.evictionSoft) && e in self.evictionSoft)',
    'evictionSoftGracePeriod OwnerKey does not have a matching evictionSoft',
  ],
);

/**
 * The kubelet settings that change a node's capacity or user data, checked as they are applied. The
 * older API has those in `more`, too.
 */
export const kubelet = (more: Readonly<Record<string, Schema>> = {}): Schema =>
  described(
    "Settings of the nodes' kubelets.",
    fields(
      {
        clusterDNS: listOf(text()),
        maxPods: int32({ minimum: 0 }),
        podsPerCore: int32({ minimum: 0 }),
        systemReserved: reserved('systemReserved'),
        kubeReserved: reserved('kubeReserved'),
        evictionHard: eviction('evictionHard'),
        evictionSoft: eviction('evictionSoft'),
        evictionSoftGracePeriod: mapOf(text(), {
          ...few,
          ...rules([
            `self.all(x, x in ${quoted(signals)})`,
            `valid keys for evictionSoftGracePeriod are ${quoted(signals)}`,
          ]),
        }),
        evictionMaxPodGracePeriod: int32(),
        imageGCHighThresholdPercent: percent(),
        imageGCLowThresholdPercent: percent(),
        cpuCFSQuota: flag(),
        ...more,
      },
      kubeletRules,
    ),
  );

const gibibytes = '([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi';
const gigabytes = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G';
const tebibytes = '([1-9]|[1-4][0-9]|5[0-8])Ti';
const terabytes = '([1-9]|[1-5][0-9]|6[0-4])T';

/** The volumes of the nodes. */
export const blockDeviceMappings = (): Schema =>
  listOf(
    fields({
      deviceName: text(),
      rootVolume: described(
        "The volume that holds the kubelet's files and pods' scratch space.",
        flag(),
      ),
      ebs: fields(
        {
          deleteOnTermination: flag(),
          encrypted: flag(),
          iops: int64(),
          kmsKeyID: text(),
          snapshotID: text(),
          throughput: int64(),
          volumeInitializationRate: int32({ minimum: 100, maximum: 300 }),
          volumeSize: text({ pattern: `^(${gibibytes}|${gigabytes}|${tebibytes}|${terabytes})$` }),
          volumeType: words('standard', 'io1', 'io2', 'gp2', 'sc1', 'st1', 'gp3'),
        },
        rules(
          [
            'has(self.snapshotID) || has(self.volumeSize)',
            'snapshotID or volumeSize must be defined',
          ],
          [
            '!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != "")',
            'snapshotID must be set when volumeInitializationRate is set',
          ],
        ),
      ),
    }),
    {
      maxItems: 50,
      ...rules([
        'self.filter(x, has(x.rootVolume) && x.rootVolume).size() <= 1',
        'must have only one blockDeviceMappings with rootVolume',
      ]),
    },
  );

/** The nodes' metadata service, with the schema's own defaults if the version has them. */
export const metadataOptions = (defaults: 'with-defaults' | 'without-defaults'): Schema => {
  const byDefault = (value: unknown): Schema =>
    defaults === 'with-defaults' ? { default: value } : {};
  return fields(
    {
      httpEndpoint: { ...words('enabled', 'disabled'), ...byDefault('enabled') },
      httpProtocolIPv6: { ...words('enabled', 'disabled'), ...byDefault('disabled') },
      httpPutResponseHopLimit: int64({ minimum: 1, maximum: 64, ...byDefault(1) }),
      httpTokens: { ...words('required', 'optional'), ...byDefault('required') },
    },
    defaults === 'with-defaults'
      ? {
          default: {
            httpEndpoint: 'enabled',
            httpProtocolIPv6: 'disabled',
            httpPutResponseHopLimit: 1,
            httpTokens: 'required',
          },
        }
      : {},
  );
};

/** Tags of all launched resources. */
export const launchTags = (): Schema =>
  described(
    'Tags on everything that is launched.',
    mapOf(
      text(),
      rules(
        ["self.all(k, k != '')", "empty tag keys aren't supported"],
        [
          "self.all(k, k != 'eks:eks-cluster-name')",
          'tag contains a restricted tag matching eks:eks-cluster-name',
        ],
        [
          "self.all(k, !k.startsWith('kubernetes.io/cluster'))",
          'tag contains a restricted tag matching kubernetes.io/cluster/',
        ],
        [
          "self.all(k, k != 'karpenter.sh/nodepool')",
          'tag contains a restricted tag matching karpenter.sh/nodepool',
        ],
        [
          "self.all(k, k != 'karpenter.sh/provisioner-name')",
          'tag contains a restricted tag matching karpenter.sh/provisioner-name',
        ],
        [
          "self.all(k, k != 'karpenter.sh/nodeclaim')",
          'tag contains a restricted tag matching karpenter.sh/nodeclaim',
        ],
        [
          "self.all(k, k != 'karpenter.k8s.aws/ec2nodeclass')",
          'tag contains a restricted tag matching karpenter.k8s.aws/ec2nodeclass',
        ],
        [
          "self.all(k, !k.startsWith('dovetail.sh/'))",
          'tag contains a restricted tag matching dovetail.sh/',
        ],
      ),
    ),
  );

/** The status of a class: its discovered subnets, security groups and images. */
export const discovered = (): Readonly<Record<string, Schema>> => ({
  subnets: listOf(fields({ 'id!': text(), 'zone!': text(), zoneID: text() })),
  securityGroups: listOf(fields({ 'id!': text(), name: text() })),
  amis: listOf(
    fields({
      'id!': text(),
      name: text(),
      deprecated: flag(),
      'requirements!': listOf(
        fields({
          'key!': text(),
          'operator!': text(),
          values: listOf(text(), { 'x-kubernetes-list-type': 'atomic' }),
        }),
      ),
    }),
  ),
  instanceProfile: text(),
});

/** A class's status. */
export const classStatus = (more: Readonly<Record<string, Schema>> = {}): Schema =>
  fields({ ...discovered(), ...more, conditions: conditions() });
