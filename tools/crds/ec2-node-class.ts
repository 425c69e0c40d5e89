import {
  blockDeviceMappings,
  classStatus,
  kubelet,
  launchTags,
  metadataOptions,
} from './class-fields.js';
import type { Schema } from './schema.js';
import {
  age,
  column,
  definition,
  described,
  fields,
  flag,
  int32,
  listOf,
  mapOf,
  readyColumn,
  rules,
  text,
  time,
  words,
} from './schema.js';

const selectorTags = (): Schema =>
  mapOf(text(), {
    maxProperties: 20,
    ...rules([
      "self.all(k, k != '' && self[k] != '')",
      "empty tag keys or values aren't supported",
    ]),
  });
const terms = (
  item: Schema,
  name: string,
  ...more: readonly (readonly [string, string])[]
): Schema =>
  listOf(item, {
    maxItems: 30,
    ...rules(['self.size() != 0', `${name} cannot be empty`], ...more),
  });

const subnetTerms = (): Schema =>
  described(
    'Which subnets to launch in; the terms are alternatives.',
    terms(
      fields({ tags: selectorTags(), id: text({ pattern: 'subnet-[0-9a-z]+' }) }),
      'subnetSelectorTerms',
      ['self.all(x, has(x.tags) || has(x.id))', "expected at least one, got none, ['tags', 'id']"],
      [
        '!self.all(x, has(x.id) && has(x.tags))',
        "'id' is mutually exclusive, cannot be set with a combination of other fields in a subnet selector term",
      ],
    ),
  );

const groupTerms = (): Schema =>
  described(
    'Which security groups the nodes get; the terms are alternatives.',
    terms(
      fields({ tags: selectorTags(), id: text({ pattern: 'sg-[0-9a-z]+' }), name: text() }),
      'securityGroupSelectorTerms',
      [
        'self.all(x, has(x.tags) || has(x.id) || has(x.name))',
        "expected at least one, got none, ['tags', 'id', 'name']",
      ],
      [
        '!self.all(x, has(x.id) && (has(x.tags) || has(x.name)))',
        "'id' is mutually exclusive, cannot be set with a combination of other fields in a security group selector term",
      ],
      [
        '!self.all(x, has(x.name) && (has(x.tags) || has(x.id)))',
        "'name' is mutually exclusive, cannot be set with a combination of other fields in a security group selector term",
      ],
    ),
  );

const aliasFamilies = [
  ['al2', 'AL2'],
  ['al2023', 'AL2023'],
  ['bottlerocket', 'Bottlerocket'],
  ['windows2019', 'Windows2019'],
  ['windows2022', 'Windows2022'],
  ['windows2025', 'Windows2025'],
] as const;
const aliasNames = aliasFamilies.map(([alias]) => `'${alias}'`).join(', ');

const alias = (): Schema =>
  text({
    maxLength: 30,
    ...rules(
      [
        "self.matches('^[a-zA-Z0-9]+@.+$')",
        "'alias' is improperly formatted, must match the format 'family@version'",
      ],
      [
        `self.split('@')[0] in [${aliasNames}]`,
        `family is not supported, must be one of the following: ${aliasNames}`,
      ],
      [
        "!self.startsWith('windows') || self.split('@')[1] == 'latest'",
        "windows families may only specify version 'latest'",
      ],
    ),
  });

const amiTerms = (): Schema =>
  described(
    'Which images the nodes boot; the terms are alternatives.',
    terms(
      fields({
        alias: alias(),
        tags: selectorTags(),
        id: text({ pattern: 'ami-[0-9a-z]+' }),
        name: text(),
        owner: text(),
        ssmParameter: text(),
      }),
      'amiSelectorTerms',
      [
        'self.all(x, has(x.tags) || has(x.id) || has(x.name) || has(x.alias) || has(x.ssmParameter))',
        "expected at least one, got none, ['tags', 'id', 'name', 'alias', 'ssmParameter']",
      ],
      [
        '!self.exists(x, has(x.id) && (has(x.alias) || has(x.tags) || has(x.name) || has(x.owner)))',
        "'id' is mutually exclusive, cannot be set with a combination of other fields in amiSelectorTerms",
      ],
      [
        '!self.exists(x, has(x.alias) && (has(x.id) || has(x.tags) || has(x.name) || has(x.owner)))',
        "'alias' is mutually exclusive, cannot be set with a combination of other fields in amiSelectorTerms",
      ],
      [
        '!(self.exists(x, has(x.alias)) && self.size() != 1)',
        "'alias' is mutually exclusive, cannot be set with a combination of other amiSelectorTerms",
      ],
    ),
  );

const reservationTerms = (): Schema =>
  listOf(
    fields({
      tags: selectorTags(),
      id: text({ pattern: '^cr-[0-9a-z]+$' }),
      ownerID: text({ pattern: '^[0-9]{12}$' }),
      instanceMatchCriteria: words('open', 'targeted'),
    }),
    {
      maxItems: 30,
      ...rules(
        [
          'self.all(x, has(x.tags) || has(x.id) || has(x.instanceMatchCriteria))',
          "expected at least one, got none, ['tags', 'id', 'instanceMatchCriteria']",
        ],
        [
          '!self.all(x, has(x.id) && (has(x.tags) || has(x.ownerID)))',
          "'id' is mutually exclusive, cannot be set along with other fields in a capacity reservation selector term",
        ],
      ),
    },
  );

const networkInterfaces = (): Schema =>
  listOf(
    fields({
      'networkCardIndex!': int32({ minimum: 0 }),
      'deviceIndex!': int32({ minimum: 0 }),
      'interfaceType!': words('interface', 'efa-only'),
    }),
    {
      maxItems: 150,
      ...rules(
        [
          "self.exists(x, x.networkCardIndex == 0 && x.deviceIndex == 0 && x.interfaceType == 'interface')",
          'networkInterfaces must include the primary interface: card 0, device 0, type interface',
        ],
        [
          'self.all(x, self.exists_one(y, y.networkCardIndex == x.networkCardIndex && y.deviceIndex == x.deviceIndex))',
          'networkInterfaces must not name the same networkCardIndex and deviceIndex twice',
        ],
        [
          "self.all(x, x.interfaceType != 'efa-only' || self.exists_one(y, y.networkCardIndex == x.networkCardIndex && y.interfaceType == 'efa-only'))",
          'networkInterfaces may have only one efa-only interface on each network card',
        ],
      ),
    },
  );

/**
 * Settings that the API accepts so that Karpenter's manifests apply. A class with one is not ready
 * until Dovetail can launch with it.
 */
const later = (): Readonly<Record<string, Schema>> => ({
  capacityReservationSelectorTerms: reservationTerms(),
  placementGroupSelector: fields(
    { name: text({ minLength: 1 }), id: text({ pattern: '^pg-[0-9a-z]+$' }) },
    rules(['has(self.name) != has(self.id)', "expected exactly one of ['name', 'id']"]),
  ),
  ipPrefixCount: int32({ minimum: 0 }),
  networkInterfaces: networkInterfaces(),
  connectionTracking: fields(
    {
      tcpEstablishedTimeout: int32({ minimum: 60, maximum: 432_000 }),
      udpStreamTimeout: int32({ minimum: 60, maximum: 180 }),
      udpTimeout: int32({ minimum: 30, maximum: 60 }),
    },
    rules([
      'has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)',
      'connectionTracking needs at least one timeout',
    ]),
  ),
  cpuOptions: fields({ nestedVirtualization: words('enabled', 'disabled') }),
  enclaveOptions: described(
    'Whether nodes may run Nitro Enclaves. Dovetail cannot launch with them yet.',
    fields({ 'enabled!': flag() }),
  ),
});

/** Discovered reservations. The field stays so that Karpenter's objects keep theirs. */
const capacityReservations = (): Schema =>
  listOf(
    fields({
      'id!': text({ pattern: '^cr-[0-9a-z]+$' }),
      'instanceType!': text(),
      'availabilityZone!': text(),
      'instanceMatchCriteria!': words('open', 'targeted'),
      'ownerID!': text({ pattern: '^[0-9]{12}$' }),
      endTime: time(),
      reservationType: { ...words('default', 'capacity-block'), default: 'default' },
      interruptible: flag(),
      state: { ...words('active', 'expiring'), default: 'active' },
    }),
  );

const familyRules = aliasFamilies.map(([name, family]): readonly [string, string] => [
  `!self.amiSelectorTerms.exists(x, has(x.alias) && x.alias.startsWith('${name}@')) || !has(self.amiFamily) || self.amiFamily == '${family}' || self.amiFamily == 'Custom'`,
  `amiFamily must match the family of alias ${name}, or be Custom, when an alias is specified`,
]);

const nodeClassRules = rules(
  [
    'has(self.role) != has(self.instanceProfile)',
    "must specify exactly one of ['role', 'instanceProfile']",
  ],
  [
    'has(self.amiFamily) || self.amiSelectorTerms.exists(x, has(x.alias))',
    'must specify amiFamily if amiSelectorTerms does not contain an alias',
  ],
  ...familyRules,
);

const nodeClassSpec = (): Schema =>
  fields(
    {
      'subnetSelectorTerms!': subnetTerms(),
      'securityGroupSelectorTerms!': groupTerms(),
      'amiSelectorTerms!': amiTerms(),
      amiFamily: words(
        'AL2',
        'AL2023',
        'Bottlerocket',
        'Custom',
        'Windows2019',
        'Windows2022',
        'Windows2025',
      ),
      associatePublicIPAddress: flag(),
      userData: described('Merged with what the family needs to join the cluster.', text()),
      role: described(
        'The IAM role of the nodes; its instance profile is made and kept by Dovetail.',
        text(rules(["self != ''", 'role cannot be empty'])),
      ),
      instanceProfile: described(
        'An instance profile that exists.',
        text(rules(["self != ''", 'instanceProfile cannot be empty'])),
      ),
      tags: launchTags(),
      // Further fields of the kubelet's configuration are kept; Dovetail checks them.
      kubelet: { ...kubelet(), 'x-kubernetes-preserve-unknown-fields': true },
      blockDeviceMappings: blockDeviceMappings(),
      instanceStorePolicy: words('RAID0'),
      detailedMonitoring: flag(),
      metadataOptions: metadataOptions('with-defaults'),
      context: text(),
      ...later(),
    },
    nodeClassRules,
  );

/** EC2NodeClass, karpenter.k8s.aws/v1. */
export const ec2NodeClass = (): Schema =>
  definition({
    group: 'karpenter.k8s.aws',
    version: 'v1',
    kind: 'EC2NodeClass',
    plural: 'ec2nodeclasses',
    shortNames: ['ec2nc', 'ec2ncs'],
    description: 'How nodes boot on EC2: network, images, identity, disks.',
    columns: [readyColumn(), age(), column('Role', '.spec.role', 'string', 1)],
    spec: nodeClassSpec(),
    status: classStatus({ capacityReservations: capacityReservations() }),
  });
