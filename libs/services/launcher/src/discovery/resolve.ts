import { tags, type NodeClass, type NodeClassStatus } from '@dovetail/core-api';
import { amiQueriesOf, chooseAmis, classTags, compareCodeUnits, kubeletProblems, securityGroupFilters, subnetFilters, type AmiAnswer, type AmiQuery, type Image, type Subnet } from '@dovetail/core-ec2-model';
import { CloudError, type Cloud, type Hash, type UserDataRenderer } from '@dovetail/core-ports';
import type { NewCondition } from '../lifecycle/conditions.js';
import type { ClusterFacts } from './knowledge.js';

export type ResolveDeps = { readonly cloud: Cloud; readonly hash: Hash; readonly userData: UserDataRenderer };
export type ResolveOptions = { readonly region: string; readonly cluster: ClusterFacts; readonly defaultInstanceProfile?: string };

/** One part of a class, found or not; `keep`: AWS could not be asked now, what was known stands. */
type Part<T> = { readonly kind: 'found'; readonly value: T } | { readonly kind: 'missing'; readonly condition: NewCondition } | { readonly kind: 'keep'; readonly condition: NewCondition };

/** By image id, the SSM parameter that named it; images that were found otherwise have none. */
export type ImageParameters = ReadonlyMap<string, string>;

/** What discovery says of a class: its status, a condition for each part, its subnets with their free addresses, and where its images' ids came from. */
export type ResolvedClass = { readonly status: NodeClassStatus; readonly conditions: readonly NewCondition[]; readonly subnets: readonly Subnet[]; readonly imageParameters: ImageParameters };

/** The conditions that a class' Ready is made of, in Karpenter's names. */
export const classSteps = ['ValidationSucceeded', 'SubnetsReady', 'SecurityGroupsReady', 'AMIsReady', 'InstanceProfileReady'] as const;

export type ClassPart = 'subnets' | 'groups' | 'images' | 'profile';

/** What was known before, and which parts are due to be asked again; a part that is not keeps its condition. */
export type KnownClass = ResolvedClass & { readonly due: (part: ClassPart) => boolean };

/** Looks up what a class selects, as far as it is due. Never rejects: what went wrong stands in its condition, with what would help. */
export async function resolveClass(deps: ResolveDeps, nodeClass: NodeClass, known: KnownClass, options: ResolveOptions): Promise<ResolvedClass> {
  const [subnets, groups, images, profile] = await Promise.all([
    asked(known, { part: 'subnets', type: 'SubnetsReady' }, () => findSubnets(deps.cloud, nodeClass)),
    asked(known, { part: 'groups', type: 'SecurityGroupsReady' }, () => findGroups(deps.cloud, nodeClass)),
    asked(known, { part: 'images', type: 'AMIsReady' }, () => findImages(deps.cloud, nodeClass, options.cluster.kubernetesVersion)),
    asked(known, { part: 'profile', type: 'InstanceProfileReady' }, () => findProfile(deps, nodeClass, options)),
  ]);
  const found = pick(subnets, known.subnets, []);
  const { amis, parameters } = pick(images, { amis: known.status.amis, parameters: known.imageParameters }, { amis: [], parameters: new Map() });
  const instanceProfile = pick(profile, known.status.instanceProfile, undefined);
  const status = {
    subnets: subnets.kind === 'keep' ? known.status.subnets : found.map(({ id, zone, zoneId }) => ({ id, zone, zoneId })),
    securityGroups: pick(groups, known.status.securityGroups, []),
    amis,
    ...(instanceProfile === undefined ? {} : { instanceProfile }),
  };
  const conditions = [validation(deps, nodeClass, options), subnets, groups, images, profile].flatMap((part, index) =>
    ('kind' in part ? (part.kind === 'found' ? { type: classSteps[index] ?? '', status: 'True' as const, reason: classSteps[index] ?? '' } : part.condition) : part));
  // A class that names a placement group is refused before it is looked up, so there is none to find.
  const placement = { type: 'PlacementGroupReady', status: 'True' as const, reason: 'PlacementGroupReady' };
  return { status, conditions: [...conditions, placement], subnets: found, imageParameters: parameters };
}

const pick = <T>(part: Part<T>, known: T, none: T): T => (part.kind === 'found' ? part.value : part.kind === 'keep' ? known : none);

async function asked<T>(known: KnownClass, about: { readonly part: ClassPart; readonly type: string }, ask: () => Promise<Part<T>>): Promise<Part<T>> {
  const { type } = about;
  const held = known.conditions.find((condition) => condition.type === type);
  if (held?.status === 'True' && !known.due(about.part)) return { kind: 'keep', condition: held };
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    const denied = error.code === 'denied';
    const message = denied ? `AWS refused (${error.awsCode}): give the launcher's role the right that this names: ${error.message}` : `AWS could not be asked (${error.awsCode}): ${error.message}`;
    // Only what AWS says for certain takes a class out of service; an answer that did not come changes nothing.
    return { kind: 'keep', condition: { type, status: denied ? 'False' : 'Unknown', reason: denied ? 'Unauthorized' : 'DependenciesNotReady', message } };
  }
}

const missing = (type: string, reason: string, message: string): { readonly kind: 'missing'; readonly condition: NewCondition } =>
  ({ kind: 'missing', condition: { type, status: 'False', reason, message } });

async function findSubnets(cloud: Cloud, nodeClass: NodeClass): Promise<Part<readonly Subnet[]>> {
  const answers = await Promise.all(subnetFilters(nodeClass.subnetSelectorTerms).map((filters) => cloud.subnets(filters)));
  const found = [...new Map(answers.flat().map((subnet) => [subnet.id, subnet])).values()].sort((a, b) => b.freeAddresses - a.freeAddresses || compareCodeUnits(a.id, b.id));
  if (found.length > 0) return { kind: 'found', value: found };
  return missing('SubnetsReady', 'SubnetsNotFound', `no subnet matches ${JSON.stringify(nodeClass.subnetSelectorTerms)}: tag the subnets so, or change subnetSelectorTerms`);
}

async function findGroups(cloud: Cloud, nodeClass: NodeClass): Promise<Part<NodeClassStatus['securityGroups']>> {
  const answers = await Promise.all(securityGroupFilters(nodeClass.securityGroupSelectorTerms).map((filters) => cloud.securityGroups(filters)));
  const found = [...new Map(answers.flat().map(({ id, name }) => [id, { id, name }])).values()].sort((a, b) => compareCodeUnits(a.id, b.id));
  if (found.length > 0) return { kind: 'found', value: found };
  return missing('SecurityGroupsReady', 'SecurityGroupsNotFound', `no security group matches ${JSON.stringify(nodeClass.securityGroupSelectorTerms)}: tag the groups so, or change securityGroupSelectorTerms`);
}

type FoundImages = { readonly amis: NodeClassStatus['amis']; readonly parameters: ImageParameters };

async function findImages(cloud: Cloud, nodeClass: NodeClass, kubernetesVersion: string): Promise<Part<FoundImages>> {
  const queries = amiQueriesOf(nodeClass, kubernetesVersion);
  if (!queries.ok) return missing('AMIsReady', queries.reason, queries.message);
  const answers = await Promise.all(queries.queries.map(async (query): Promise<AmiAnswer> => ({ query, images: await imagesOf(cloud, query) })));
  const amis = chooseAmis(answers);
  const parameters = new Map(answers.flatMap(({ query, images }) => (query.kind === 'parameter' ? images.map(({ id }) => [id, query.name] as const) : [])));
  if (amis.length > 0) return { kind: 'found', value: { amis, parameters } };
  return missing('AMIsReady', 'AMINotFound', `no image is found for ${JSON.stringify(nodeClass.amiSelectorTerms)} and Kubernetes ${kubernetesVersion}: change amiSelectorTerms`);
}

async function imagesOf(cloud: Cloud, query: AmiQuery): Promise<readonly Image[]> {
  if (query.kind === 'images') return cloud.images({ filters: query.filters, ...(query.ids === undefined ? {} : { ids: query.ids }), ...(query.owners === undefined ? {} : { owners: query.owners }) });
  const id = await cloud.parameter(query.name);
  return id === undefined ? [] : cloud.images({ ids: [id], filters: [] });
}

/** The profile's name is derived from what it is for, so that making it twice makes one; a changed role is another profile. */
export const profileNameOf = (nodeClass: NodeClass, options: ResolveOptions, hash: Hash): string =>
  `${options.cluster.identity.name}_${hash.sha256Hex(`${options.region}/${nodeClass.uid}/${nodeClass.role ?? ''}`).slice(0, 20)}`;

async function findProfile(deps: ResolveDeps, nodeClass: NodeClass, options: ResolveOptions): Promise<Part<string | undefined>> {
  if (nodeClass.role !== undefined) {
    const { identity } = options.cluster;
    const name = await deps.cloud.ensureInstanceProfile({
      name: profileNameOf(nodeClass, options, deps.hash), role: nodeClass.role.split('/').at(-1) ?? nodeClass.role, path: `/karpenter/${options.region}/${identity.name}/${nodeClass.uid}/`,
      tags: { ...classTags(nodeClass, identity), [tags.clusterName]: identity.name, 'topology.kubernetes.io/region': options.region },
    });
    return { kind: 'found', value: name };
  }
  const name = nodeClass.instanceProfile ?? options.defaultInstanceProfile;
  if (name === undefined) return missing('InstanceProfileReady', 'InstanceProfileNotFound', 'the class names neither role nor instanceProfile, and the installation has no default instance profile: set one of them');
  if (await deps.cloud.instanceProfileExists(name)) return { kind: 'found', value: name };
  return missing('InstanceProfileReady', 'InstanceProfileNotFound', `there is no instance profile ${name}: create it, or name another`);
}

/** Kubelet settings and the user's part of the user data are tried before a node is bought with them. */
function validation(deps: ResolveDeps, nodeClass: NodeClass, options: ResolveOptions): NewCondition {
  const [problem] = kubeletProblems(nodeClass.kubelet);
  if (problem !== undefined) return { type: 'ValidationSucceeded', status: 'False', reason: 'InvalidKubeletConfiguration', message: `${problem.field} is ${problem.value}: ${problem.remedy}` };
  const { identity, kubernetesVersion: _version, ...cluster } = options.cluster;
  const rendered = deps.userData.render({
    family: nodeClass.amiFamily, ...(nodeClass.userData === undefined ? {} : { userData: nodeClass.userData }), cluster: { ...cluster, name: identity.name },
    kubelet: nodeClass.kubelet, maxPods: 110, labels: {}, taints: [], ...(nodeClass.instanceStorePolicy === undefined ? {} : { instanceStorePolicy: nodeClass.instanceStorePolicy }),
  });
  if (!rendered.ok) return { type: 'ValidationSucceeded', status: 'False', reason: 'UserDataInvalid', message: rendered.message };
  return { type: 'ValidationSucceeded', status: 'True', reason: 'ValidationSucceeded' };
}
