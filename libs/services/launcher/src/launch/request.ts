import {
  annotations,
  type KubeletConfiguration,
  labels,
  type NodeClaim,
  priceCapOf,
} from '@dovetail/core-api';
import { typesNamedBy } from '@dovetail/core-cluster';
import {
  aliasOf,
  canonicalJson,
  type CapacityType,
  chooseForLaunch,
  fleetConfigs,
  instanceTags,
  type InstanceType,
  type LaunchGroup,
  launchGroups,
  launchTemplateFor,
  type LaunchTemplateSpec,
  mergedKubelet,
  tenancyOf,
} from '@dovetail/core-ec2-model';
import { at } from '@dovetail/core-invariant';
import { maxResources, requirementsOf, type Resources } from '@dovetail/core-kube-model';
import type { Hash, UserDataRenderer } from '@dovetail/core-ports';

import type { DiscoveredClass } from '../discovery/class-catalog.js';
import type { ClusterFacts } from '../discovery/cluster-facts.js';
import type { IntentRequest } from './intent.js';

/** The ports that a request is built with. */
export type RequestDeps = { readonly hash: Hash; readonly userData: UserDataRenderer };
/** The claims of one request, and all that is known for launching them. */
export type RequestInput = {
  /** Invariant: at least one claim, and all have the same `equalityKey`. */
  readonly claims: readonly NodeClaim[];
  readonly discovered: DiscoveredClass;
  readonly types: ReadonlyMap<string, InstanceType>;
  readonly cluster: ClusterFacts;
  /** The pool's price cap for one node. */
  readonly maxPriceMicrosPerHour?: number;
  readonly typesMax: number;
  /** The pool's own kubelet settings, which win over those of its class. */
  readonly poolKubelet?: KubeletConfiguration;
};

/** A request with its launch templates, or why there is none. */
export type BuiltRequest =
  | {
      readonly ok: true;
      readonly request: IntentRequest;
      readonly templates: readonly LaunchTemplateSpec[];
    }
  /**
   * `capacity`: none of the claims' offerings is available now. `class`: nodes of the class cannot
   * boot.
   */
  | { readonly ok: false; readonly kind: 'capacity' | 'class'; readonly message: string };

/** A claim that requests EFA gets other network interfaces, and so another launch template. */
const efa = 'vpc.amazonaws.com/efa';

/**
 * Claims with the same key are launched by one request: everything that the request is built from
 * is equal.
 */
export const equalityKey = (claim: NodeClaim): string =>
  canonicalJson([
    claim.pool,
    claim.classRef,
    claim.requirements,
    claim.taints,
    claim.startupTaints,
    claim.labels,
    claim.expireAfterMs ?? null,
    (claim.requests[efa] ?? 0) > 0,
    claim.annotations[annotations.maxPricePerHour] ?? null,
  ]);

/** The fleet request of some equal claims, and the launch templates that it names. */
export function buildRequest(deps: RequestDeps, input: RequestInput): BuiltRequest {
  const first = at(input.claims, 0);
  const requests = largestRequests(input.claims);
  const choice = chooseForLaunch(
    affordable(typesNamedBy(first.requirements, input.types), mostFor(first, input)),
    { requirements: requirementsOf(first.requirements), requests },
    input.typesMax,
  );
  if (!choice.ok) return { ok: false, kind: 'capacity', message: choice.message };
  const { nodeClass, subnets } = input.discovered;
  const groups = launchGroups(nodeClass, choice.types, requests);
  const made = templatesOf(deps, input, groups, choice.capacityType);
  if (!made.ok) return made;
  const configs = fleetConfigs({ types: choice.types, subnets, templates: made.nameOfType });
  if (configs.length === 0) return noSubnet;
  const named = new Set(configs.map((config) => config.launchTemplateName));
  return {
    ok: true,
    templates: made.templates.filter((spec) => named.has(spec.name)),
    request: {
      capacityType: choice.capacityType,
      count: input.claims.length,
      configs,
      // Karpenter's allocation strategies (providers/instance).
      allocation: choice.capacityType === 'spot' ? 'price-capacity-optimized' : 'lowest-price',
      tags: instanceTags(nodeClass, first.pool, input.cluster.identity),
      ...(nodeClass.context === undefined || isRelaxed(first)
        ? {}
        : { context: nodeClass.context }),
    },
  };
}

const noSubnet: BuiltRequest = {
  ok: false,
  kind: 'class',
  message: 'no subnet of the class is in a zone of the chosen offerings',
};

/**
 * The most that any of the claims requests, by resource: each of the chosen types must hold every
 * claim.
 */
const largestRequests = (claims: readonly NodeClaim[]): Resources =>
  claims.reduce<Resources>((most, claim) => maxResources(most, claim.requests), {});

/** Karpenter leaves the context out for claims whose minValues were relaxed. */
const isRelaxed = (claim: NodeClaim): boolean =>
  claim.annotations['karpenter.sh/nodeclaim-min-values-relaxed'] === 'true';

/** The most that the node of a claim may cost: its pool and its command each set a cap. */
function mostFor(
  claim: NodeClaim,
  { maxPriceMicrosPerHour: pool }: Pick<RequestInput, 'maxPriceMicrosPerHour'>,
): number | undefined {
  const own = priceCapOf(claim);
  return pool === undefined || own === undefined ? (pool ?? own) : Math.min(pool, own);
}

/**
 * The types with those of their offerings that cost at most `most`; all of them when it is absent.
 */
const affordable = (
  types: readonly InstanceType[],
  most: number | undefined,
): readonly InstanceType[] =>
  most === undefined
    ? types
    : types.map((type) => ({
        ...type,
        offerings: type.offerings.filter((offering) => offering.priceMicrosPerHour <= most),
      }));

type Templates =
  | {
      readonly ok: true;
      readonly templates: readonly LaunchTemplateSpec[];
      readonly nameOfType: ReadonlyMap<string, string>;
    }
  | { readonly ok: false; readonly kind: 'class'; readonly message: string };

/**
 * One launch template for each group of types, and which type boots with which. All types of a
 * class with a template of the user's own boot with that one.
 */
function templatesOf(
  deps: RequestDeps,
  input: RequestInput,
  groups: readonly LaunchGroup[],
  capacityType: CapacityType,
): Templates {
  const own = input.discovered.nodeClass.launchTemplateName;
  if (own !== undefined) {
    const types = groups.flatMap(({ instanceTypes }) => instanceTypes);
    return { ok: true, templates: [], nameOfType: new Map(types.map((type) => [type, own])) };
  }
  const templates: LaunchTemplateSpec[] = [];
  const nameOfType = new Map<string, string>();
  for (const group of groups) {
    const template = templateOf(deps, input, group, capacityType);
    if (!template.ok) return { ok: false, kind: 'class', message: template.message };
    templates.push(template.spec);
    for (const type of group.instanceTypes) nameOfType.set(type, template.spec.name);
  }
  return { ok: true, templates, nameOfType };
}

function templateOf(
  deps: RequestDeps,
  input: RequestInput,
  group: LaunchGroup,
  capacityType: CapacityType,
):
  | { readonly ok: true; readonly spec: LaunchTemplateSpec }
  | { readonly ok: false; readonly message: string } {
  const { nodeClass } = input.discovered;
  const { instanceProfile } = nodeClass.status;
  const rendered = deps.userData.render(userDataInput(input, group, capacityType));
  if (!rendered.ok) return { ok: false, message: rendered.message };
  const spec = launchTemplateFor(
    {
      nodeClass,
      group,
      userDataBase64: rendered.base64,
      cluster: input.cluster.identity,
      capacityType,
      tenancy: tenancyOf(requirementsOf(at(input.claims, 0).requirements)),
      ...(instanceProfile === undefined ? {} : { instanceProfileName: instanceProfile }),
    },
    deps.hash,
  );
  return { ok: true, spec };
}

function userDataInput(
  input: RequestInput,
  group: LaunchGroup,
  capacityType: CapacityType,
): Parameters<UserDataRenderer['render']>[0] {
  const { nodeClass } = input.discovered;
  const claim = at(input.claims, 0);
  const { identity, kubernetesVersion: _version, ...cluster } = input.cluster;
  const alias = aliasOf(nodeClass);
  return {
    family: nodeClass.amiFamily,
    cluster: { ...cluster, name: identity.name },
    kubelet: mergedKubelet(nodeClass.kubelet, input.poolKubelet),
    maxPods: group.maxPods,
    labels: { ...claim.labels, [labels.capacityType]: capacityType },
    taints: [...claim.taints, ...claim.startupTaints],
    ...(nodeClass.userData === undefined ? {} : { userData: nodeClass.userData }),
    ...(nodeClass.instanceStorePolicy === undefined
      ? {}
      : { instanceStorePolicy: nodeClass.instanceStorePolicy }),
    ...(alias === undefined || alias.version === 'latest' ? {} : { imageVersion: alias.version }),
  };
}
