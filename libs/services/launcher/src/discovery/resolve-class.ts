import { type NodeClass, type NodeClassStatus, tags } from '@dovetail/core-api';
import {
  classTags,
  kubeletProblems,
  securityGroupFilters,
  type Subnet,
  subnetFilters,
  unsupportedKubelet,
} from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import {
  CloudError,
  type Hash,
  type ImageDiscovery,
  type InstanceProfiles,
  type NetworkDiscovery,
  type UserDataRenderer,
} from '@dovetail/core-ports';
import type { NewCondition } from '@dovetail/service-kit';

import { findImages, type FoundImages, type ImageParameters } from './class-images.js';
import { missing, type Part } from './class-part.js';
import type { ClusterFacts } from './cluster-facts.js';
import { confirmed } from './confirmed.js';
import { profileNameOf, profilePathOf } from './profile-name.js';

/** The ports that a class is looked up with. */
export type ResolveDeps = {
  readonly cloud: NetworkDiscovery & ImageDiscovery & InstanceProfiles;
  readonly hash: Hash;
  readonly userData: UserDataRenderer;
};
/** The facts that a lookup depends on, beside the class itself. */
export type ResolveOptions = {
  readonly region: string;
  readonly cluster: ClusterFacts;
  readonly defaultInstanceProfile?: string;
  /** IAM is out of reach then: it has no endpoint in a VPC. */
  readonly isolatedVpc: boolean;
};

/**
 * A class as discovery found it. `subnets` carry their free addresses, which the status does not.
 */
export type ResolvedClass = {
  readonly status: NodeClassStatus;
  readonly conditions: readonly NewCondition[];
  readonly subnets: readonly Subnet[];
  readonly imageParameters: ImageParameters;
};

/** The conditions that a class' Ready is made of, in Karpenter's names. */
export const classSteps = [
  'ValidationSucceeded',
  'SubnetsReady',
  'SecurityGroupsReady',
  'AMIsReady',
  'InstanceProfileReady',
] as const;

/** The parts of a class that are asked for at paces of their own. */
export type ClassPart = 'subnets' | 'groups' | 'images' | 'profile';

/** The class as it was known before, and the parts that are due to be asked for again. */
export type KnownClass = ResolvedClass & { readonly due: (part: ClassPart) => boolean };

/**
 * Looks up what a class selects, as far as it is due. Never rejects because of AWS: a failure
 * becomes the condition of its part, with the remedy.
 */
export async function resolveClass(
  deps: ResolveDeps,
  nodeClass: NodeClass,
  known: KnownClass,
  options: ResolveOptions,
): Promise<ResolvedClass> {
  const parts = await findParts(deps, nodeClass, known, options);
  const subnets = valueOf(parts.subnets, known.subnets, []);
  const images = valueOf(
    parts.images,
    { amis: known.status.amis, parameters: known.imageParameters },
    { amis: [], parameters: new Map() },
  );
  const instanceProfile = valueOf(parts.profile, known.status.instanceProfile, undefined);
  return {
    status: {
      subnets:
        parts.subnets.kind === 'keep'
          ? known.status.subnets
          : subnets.map(({ id, zone, zoneId }) => ({ id, zone, zoneId })),
      securityGroups: valueOf(parts.groups, known.status.securityGroups, []),
      amis: images.amis,
      ...(instanceProfile === undefined ? {} : { instanceProfile }),
    },
    conditions: [
      validation(deps, nodeClass, options),
      conditionOf(parts.subnets, 'SubnetsReady'),
      conditionOf(parts.groups, 'SecurityGroupsReady'),
      conditionOf(parts.images, 'AMIsReady'),
      conditionOf(parts.profile, 'InstanceProfileReady'),
      // A class that names a placement group is refused before it is looked up.
      succeeded('PlacementGroupReady'),
    ],
    subnets,
    imageParameters: images.parameters,
  };
}

type Parts = {
  readonly subnets: Part<readonly Subnet[]>;
  readonly groups: Part<NodeClassStatus['securityGroups']>;
  readonly images: Part<FoundImages>;
  readonly profile: Part<string | undefined>;
};

async function findParts(
  deps: ResolveDeps,
  nodeClass: NodeClass,
  known: KnownClass,
  options: ResolveOptions,
): Promise<Parts> {
  const { status } = known;
  const [subnets, groups, images, profile] = await Promise.all([
    asked(known, { part: 'subnets', type: 'SubnetsReady', lacks: lacksIdOf(status.subnets) }, () =>
      findSubnets(deps.cloud, nodeClass),
    ),
    asked(
      known,
      { part: 'groups', type: 'SecurityGroupsReady', lacks: lacksIdOf(status.securityGroups) },
      () => findGroups(deps.cloud, nodeClass),
    ),
    asked(
      known,
      { part: 'images', type: 'AMIsReady', lacks: (found) => lacksIdOf(status.amis)(found?.amis) },
      () => findImages(deps.cloud, nodeClass, options.cluster.kubernetesVersion),
    ),
    asked(
      known,
      {
        part: 'profile',
        type: 'InstanceProfileReady',
        lacks: (found) => found === undefined && status.instanceProfile !== undefined,
      },
      () => findProfile(deps, nodeClass, options),
    ),
  ]);
  return { subnets, groups, images, profile };
}

const succeeded = (type: string): NewCondition => ({ type, status: 'True', reason: type });

const conditionOf = (part: Part<unknown>, type: (typeof classSteps)[number]): NewCondition =>
  part.kind === 'found' ? succeeded(type) : part.condition;

/**
 * The value that a part was found with; what was known when it is kept; nothing when it is missing.
 */
const valueOf = <T>(part: Part<T>, known: T, nothing: T): T =>
  part.kind === 'found' ? part.value : part.kind === 'keep' ? known : nothing;

type Identified = { readonly id: string };

/** Whether one of the known things is not among those that were found. */
const lacksIdOf =
  (known: readonly Identified[]) =>
  (found: readonly Identified[] = []): boolean =>
    known.some(({ id }) => !found.some((one) => one.id === id));

/** The part that is asked for, its condition, and whether an answer lacks something known of it. */
type Question<T> = {
  readonly part: ClassPart;
  readonly type: string;
  readonly lacks: (found: T | undefined) => boolean;
};

/** Asks for one part if it is due, or if it was not found before. */
async function asked<T>(
  known: KnownClass,
  { part, type, lacks }: Question<T>,
  ask: () => Promise<Part<T>>,
): Promise<Part<T>> {
  const held = known.conditions.find((condition) => condition.type === type);
  if (held?.status === 'True' && !known.due(part)) return { kind: 'keep', condition: held };
  try {
    return await confirmed(ask, (answer) =>
      lacks(answer.kind === 'found' ? answer.value : undefined),
    );
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    const denied = error.code === 'denied';
    const message = denied
      ? `AWS refused (${error.awsCode}): grant the launcher's role the right that is named here: ${error.message}`
      : `the call to AWS failed (${error.awsCode}): ${error.message}`;
    // Only a certain answer takes a class out of service: an error keeps what was known.
    return {
      kind: 'keep',
      condition: {
        type,
        status: denied ? 'False' : 'Unknown',
        reason: denied ? 'Unauthorized' : 'DependenciesNotReady',
        message,
      },
    };
  }
}

async function findSubnets(
  cloud: NetworkDiscovery,
  nodeClass: NodeClass,
): Promise<Part<readonly Subnet[]>> {
  const answers = await Promise.all(
    subnetFilters(nodeClass.subnetSelectorTerms).map((filters) => cloud.subnets(filters)),
  );
  const found = [...new Map(answers.flat().map((subnet) => [subnet.id, subnet])).values()].sort(
    (a, b) => b.freeAddresses - a.freeAddresses || compareText(a.id, b.id),
  );
  if (found.length > 0) return { kind: 'found', value: found };
  return missing(
    'SubnetsReady',
    'SubnetsNotFound',
    `no subnet matches ${JSON.stringify(nodeClass.subnetSelectorTerms)}: tag the subnets accordingly, or change subnetSelectorTerms`,
  );
}

async function findGroups(
  cloud: NetworkDiscovery,
  nodeClass: NodeClass,
): Promise<Part<NodeClassStatus['securityGroups']>> {
  if (nodeClass.launchTemplateName !== undefined) return { kind: 'found', value: [] };
  const answers = await Promise.all(
    securityGroupFilters(nodeClass.securityGroupSelectorTerms).map((filters) =>
      cloud.securityGroups(filters),
    ),
  );
  const found = [
    ...new Map(answers.flat().map(({ id, name }) => [id, { id, name }])).values(),
  ].sort((a, b) => compareText(a.id, b.id));
  if (found.length > 0) return { kind: 'found', value: found };
  return missing(
    'SecurityGroupsReady',
    'SecurityGroupsNotFound',
    `no security group matches ${JSON.stringify(nodeClass.securityGroupSelectorTerms)}: tag the groups accordingly, or change securityGroupSelectorTerms`,
  );
}

async function findProfile(
  deps: ResolveDeps,
  nodeClass: NodeClass,
  options: ResolveOptions,
): Promise<Part<string | undefined>> {
  // The template of the user's own names it.
  if (nodeClass.launchTemplateName !== undefined) return { kind: 'found', value: undefined };
  if (nodeClass.role !== undefined) {
    const { identity } = options.cluster;
    const name = await deps.cloud.ensureInstanceProfile({
      name: profileNameOf(nodeClass, options, deps.hash),
      role: nodeClass.role.split('/').at(-1) ?? nodeClass.role,
      path: profilePathOf(nodeClass, options),
      tags: {
        ...classTags(nodeClass, identity),
        [tags.clusterName]: identity.name,
        'topology.kubernetes.io/region': options.region,
      },
    });
    return { kind: 'found', value: name };
  }
  const name = nodeClass.instanceProfile ?? options.defaultInstanceProfile;
  if (name === undefined)
    return missing(
      'InstanceProfileReady',
      'InstanceProfileNotFound',
      'the class names neither role nor instanceProfile, and the installation has no default instance profile: set one of them',
    );
  if (options.isolatedVpc || (await deps.cloud.instanceProfileExists(name)))
    return { kind: 'found', value: name };
  return missing(
    'InstanceProfileReady',
    'InstanceProfileNotFound',
    `there is no instance profile ${name}: create it, or name another`,
  );
}

/** Tries the kubelet settings and the user data before a node is bought with them. */
function validation(
  deps: ResolveDeps,
  nodeClass: NodeClass,
  options: ResolveOptions,
): NewCondition {
  const invalid = (reason: string, message: string): NewCondition => ({
    type: 'ValidationSucceeded',
    status: 'False',
    reason,
    message,
  });
  const [problem] = kubeletProblems(nodeClass.kubelet);
  if (problem !== undefined)
    return invalid(
      'InvalidKubeletConfiguration',
      `${problem.field} is ${problem.value}: ${problem.remedy}`,
    );
  const [dropped] = unsupportedKubelet(nodeClass);
  if (dropped !== undefined)
    return invalid(
      'UnsupportedKubeletConfiguration',
      `${dropped.field} is ${dropped.value}: ${dropped.remedy}`,
    );
  const { identity, kubernetesVersion: _version, ...cluster } = options.cluster;
  const rendered = deps.userData.render({
    family: nodeClass.amiFamily,
    ...(nodeClass.userData === undefined ? {} : { userData: nodeClass.userData }),
    cluster: { ...cluster, name: identity.name },
    kubelet: nodeClass.kubelet,
    maxPods: 110,
    labels: {},
    taints: [],
    ...(nodeClass.instanceStorePolicy === undefined
      ? {}
      : { instanceStorePolicy: nodeClass.instanceStorePolicy }),
  });
  return rendered.ok
    ? succeeded('ValidationSucceeded')
    : invalid('UserDataInvalid', rendered.message);
}
