import { type AmiSelectorTerm, hasAl2Images, type NodeClass } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import { Malformed, type Raw, recordOf } from '@dovetail/core-kube-model';

import { type Cluster, isPresent, only, type Tell, tellUnknown } from './draft.js';

const copied = ['userData', 'tags', 'detailedMonitoring', 'context'];
const known = [
  ...copied,
  'apiVersion',
  'kind',
  'amiFamily',
  'amiSelector',
  'subnetSelector',
  'securityGroupSelector',
  'instanceProfile',
  'blockDeviceMappings',
  'metadataOptions',
];

/** The hop limit of older versions, whose default v1 lowered to 1: pods reach the metadata by 2. */
const hopLimitBefore = 2;

/** Terms in which an ID stands alone, as v1's schema asks, each once. */
function withIdsAlone<T extends AmiSelectorTerm>(
  terms: readonly T[],
  field: string,
  tell: Tell,
): readonly Raw[] {
  const alone = terms.map(({ id, ...rest }): Raw => {
    if (id === undefined) return rest;
    if (Object.keys(rest).length > 0)
      tell(
        field,
        `${id} stands alone in its term now: v1 takes no tag, name or owner beside an ID`,
      );
    return { id };
  });
  return [...new Map(alone.map((term) => [JSON.stringify(term), term])).values()];
}

/**
 * The role or the instance profile, of which v1 needs one. Older versions could take the profile
 * from a setting of the whole cluster.
 */
export function identityOf(
  { role, instanceProfile }: Raw,
  field: string,
  cluster: Cluster,
  tell: Tell,
): Raw {
  if (isPresent(role)) return { role };
  if (isPresent(instanceProfile) && instanceProfile !== '') return { instanceProfile };
  const [given] = Object.entries(only(cluster, 'role', 'instanceProfile')).filter(
    ([, value]) => value !== '',
  );
  if (given === undefined)
    throw new Malformed(
      `${field}.instanceProfile`,
      instanceProfile,
      'v1 needs a role or an instance profile: give --role or --instance-profile',
    );
  const [name, value] = given;
  tell(`${field}.${name}`, `${String(value)} by the flag: v1 needs a role or an instance profile`);
  return { [name]: value };
}

/** The metadata options, with the hop limit that older versions had as their default. */
export function metadataOptionsOf(raw: unknown, field: string, tell: Tell): Raw {
  const options = recordOf(raw);
  if (isPresent(options['httpPutResponseHopLimit'])) return options;
  tell(
    `${field}.httpPutResponseHopLimit`,
    `${hopLimitBefore}, the default before; that of v1 is 1, where pods cannot reach the metadata`,
  );
  return { ...options, httpPutResponseHopLimit: hopLimitBefore };
}

/** Says of a class with the images of AL2 that there are none for the cluster's Kubernetes. */
export function tellNoAl2Images(
  field: string,
  kubernetes: Cluster['kubernetes'],
  tell: Tell,
): void {
  if (hasAl2Images(kubernetes)) return;
  const version = `${kubernetes.major}.${kubernetes.minor}`;
  tell(
    field,
    `AL2 has no images for Kubernetes ${version}, so that no node of this class starts there: write AL2023, with alias al2023@latest and userData for it; --kubernetes-version names the version of an older cluster`,
  );
}

function imagesOf(
  provider: Raw,
  read: NodeClass,
  { field, cluster, tell }: { field: string; cluster: Cluster; tell: Tell },
): Raw {
  const family = provider['amiFamily'];
  if (family !== read.amiFamily)
    tell(
      `${field}.amiFamily`,
      isPresent(family)
        ? `${read.amiFamily}, whose nodes boot alike: v1 has no family ${String(family)}`
        : `${read.amiFamily}, which was meant for this version of Kubernetes`,
    );
  const terms = withIdsAlone(read.amiSelectorTerms, `${field}.amiSelector`, tell);
  tell(
    `${field}.amiSelector`,
    isPresent(provider['amiSelector'])
      ? 'is amiSelectorTerms now: one term for each combination of values'
      : `was absent, and is amiSelectorTerms now: the latest images of the family`,
  );
  if (family === 'AL2' && !isPresent(provider['amiSelector']))
    tellNoAl2Images(`${field}.amiFamily`, cluster.kubernetes, tell);
  return { amiFamily: read.amiFamily, amiSelectorTerms: terms };
}

/** The disks: as they were, or the root of Ubuntu's images, which its family no longer implies. */
function disksOf(provider: Raw, field: string, tell: Tell): Raw {
  const path = `${field}.blockDeviceMappings`;
  const mappings = provider['blockDeviceMappings'];
  if (Array.isArray(mappings) && mappings.length > 0) return { blockDeviceMappings: mappings };
  if (provider['amiFamily'] !== 'Ubuntu') return {};
  tell(path, 'the root of Ubuntu is written out: 20Gi at /dev/sda1');
  return { blockDeviceMappings: [ubuntuRoot] };
}

/** The root volume that the family Ubuntu implied. */
export const ubuntuRoot: Raw = {
  deviceName: '/dev/sda1',
  rootVolume: true,
  ebs: { encrypted: true, volumeType: 'gp3', volumeSize: '20Gi', deleteOnTermination: true },
};

/** The spec of the EC2NodeClass for an AWSNodeTemplate's spec or an inline provider. */
export function classSpecOf(
  provider: Raw,
  read: NodeClass,
  { field, cluster, tell }: { field: string; cluster: Cluster; tell: Tell },
): Raw {
  if (read.launchTemplateName !== undefined)
    throw new Malformed(
      `${field}.launchTemplate`,
      read.launchTemplateName,
      'v1 has no launch templates of your own: write what it holds as securityGroupSelector, ' +
        'amiSelector, userData, blockDeviceMappings and instanceProfile',
    );
  tellUnknown(provider, known, field, tell);
  for (const name of ['apiVersion', 'kind'])
    if (isPresent(lookUp(provider, name)))
      tell(`${field}.${name}`, 'left out: the class has its own');
  const selected = (name: 'subnetSelector' | 'securityGroupSelector'): readonly Raw[] => {
    tell(`${field}.${name}`, `is ${name}Terms now: one term for each combination of values`);
    return withIdsAlone(read[`${name}Terms`], `${field}.${name}`, tell);
  };
  return {
    ...imagesOf(provider, read, { field, cluster, tell }),
    ...identityOf(only(provider, 'instanceProfile'), field, cluster, tell),
    subnetSelectorTerms: selected('subnetSelector'),
    securityGroupSelectorTerms: selected('securityGroupSelector'),
    ...only(provider, ...copied),
    ...disksOf(provider, field, tell),
    metadataOptions: metadataOptionsOf(
      provider['metadataOptions'],
      `${field}.metadataOptions`,
      tell,
    ),
  };
}
