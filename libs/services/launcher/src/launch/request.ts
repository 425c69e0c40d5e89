import { labels, tags, type KubeletConfiguration, type NodeClaim, type PoolIdentity } from '@dovetail/core-api';
import {
  aliasOf, canonicalJson, chooseForLaunch, fleetConfigs, instanceTags, launchGroups, launchTemplateFor, mergedKubelet, type InstanceType, type LaunchGroup, type LaunchTemplateSpec,
} from '@dovetail/core-ec2-model';
import { maxResources, requirementsOf, type Resources } from '@dovetail/core-kube-model';
import type { Hash, UserDataRenderer } from '@dovetail/core-ports';
import type { DiscoveredClass } from '../discovery/catalog.js';
import type { ClusterFacts } from '../discovery/knowledge.js';
import { typesNamedBy } from '../world/catalog-view.js';
import type { IntentRequest } from './intent.js';

export type RequestDeps = { readonly hash: Hash; readonly userData: UserDataRenderer };
export type RequestInput = {
  /** Equal claims (`equalityKey`), at least one. */
  readonly claims: readonly NodeClaim[];
  readonly discovered: DiscoveredClass;
  readonly types: ReadonlyMap<string, InstanceType>;
  readonly cluster: ClusterFacts;
  readonly maxPriceMicrosPerHour?: number;
  readonly typesMax: number;
  /** Kubelet settings of the pool's own, which win over its class'. */
  readonly poolKubelet?: KubeletConfiguration;
};

export type BuiltRequest =
  | { readonly ok: true; readonly request: IntentRequest; readonly templates: readonly LaunchTemplateSpec[] }
  /** `capacity`: nothing of what the claims allow can be had now; `class`: the class cannot be booted as it is. */
  | { readonly ok: false; readonly kind: 'capacity' | 'class'; readonly message: string };

const efa = 'vpc.amazonaws.com/efa';

/** Claims with the same key are launched by one request: what a request is made of is equal. */
export const equalityKey = (claim: NodeClaim): string => canonicalJson([
  claim.pool, claim.classRef, claim.requirements, claim.taints, claim.startupTaints, claim.labels, claim.expireAfterMs ?? null, (claim.requests[efa] ?? 0) > 0,
]);

/** The fleet request of some equal claims, and the launch templates that it names. */
export function buildRequest(deps: RequestDeps, input: RequestInput): BuiltRequest {
  const [first] = input.claims;
  if (first === undefined) return { ok: false, kind: 'capacity', message: 'no claims' };
  const requests = input.claims.reduce<Resources>((most, claim) => maxResources(most, claim.requests), {});
  const affordable = typesNamedBy(first.requirements, input.types).map((type) => withinPrice(type, input.maxPriceMicrosPerHour));
  const choice = chooseForLaunch(affordable, { requirements: requirementsOf(first.requirements), requests }, input.typesMax);
  if (!choice.ok) return { ok: false, kind: 'capacity', message: choice.message };
  const { nodeClass, subnets } = input.discovered;
  const templates: LaunchTemplateSpec[] = [];
  const nameOf = new Map<string, string>();
  for (const group of launchGroups(nodeClass, choice.types, requests)) {
    const template = templateOf(deps, input, group, { claim: first, capacityType: choice.capacityType });
    if (!template.ok) return { ok: false, kind: 'class', message: template.message };
    templates.push(template.spec);
    for (const type of group.instanceTypes) nameOf.set(type, template.spec.name);
  }
  const configs = fleetConfigs({ types: choice.types, subnets, templates: nameOf });
  if (configs.length === 0) return { ok: false, kind: 'class', message: 'no subnet of the class lies in a zone of the chosen offerings' };
  const named = new Set(configs.map((config) => config.launchTemplateName));
  return { ok: true, templates: templates.filter((spec) => named.has(spec.name)), request: {
    capacityType: choice.capacityType, count: input.claims.length, configs,
    allocation: choice.capacityType === 'spot' ? 'price-capacity-optimized' : 'lowest-price',
    tags: instanceTags(nodeClass, first.pool, input.cluster.identity),
    ...(nodeClass.context === undefined || relaxed(first) ? {} : { context: nodeClass.context }),
  } };
}

/** Karpenter leaves the context out for claims whose minValues were relaxed. */
const relaxed = (claim: NodeClaim): boolean => claim.annotations['karpenter.sh/nodeclaim-min-values-relaxed'] === 'true';

const withinPrice = (type: InstanceType, most: number | undefined): InstanceType =>
  (most === undefined ? type : { ...type, offerings: type.offerings.filter((offering) => offering.priceMicrosPerHour <= most) });

function templateOf(deps: RequestDeps, input: RequestInput, group: LaunchGroup, of: { readonly claim: NodeClaim; readonly capacityType: string }): { readonly ok: true; readonly spec: LaunchTemplateSpec } | { readonly ok: false; readonly message: string } {
  const { nodeClass } = input.discovered;
  const { identity, kubernetesVersion: _version, ...cluster } = input.cluster;
  const alias = aliasOf(nodeClass);
  const rendered = deps.userData.render({
    family: nodeClass.amiFamily, cluster: { ...cluster, name: identity.name }, kubelet: mergedKubelet(nodeClass.kubelet, input.poolKubelet), maxPods: group.maxPods,
    labels: { ...of.claim.labels, [labels.capacityType]: of.capacityType }, taints: [...of.claim.taints, ...of.claim.startupTaints],
    ...(nodeClass.userData === undefined ? {} : { userData: nodeClass.userData }),
    ...(nodeClass.instanceStorePolicy === undefined ? {} : { instanceStorePolicy: nodeClass.instanceStorePolicy }),
    ...(alias === undefined || alias.version === 'latest' ? {} : { imageVersion: alias.version }),
  });
  if (!rendered.ok) return { ok: false, message: rendered.message };
  const { instanceProfile } = nodeClass.status;
  return { ok: true, spec: launchTemplateFor({ nodeClass, group, userDataBase64: rendered.base64, cluster: identity, ...(instanceProfile === undefined ? {} : { instanceProfileName: instanceProfile }) }, deps.hash) };
}

/** The pool that an instance's tags name. */
export const poolTagOf = (pool: PoolIdentity): string => (pool.kind === 'NodePool' ? tags.nodePool : tags.provisioner);
