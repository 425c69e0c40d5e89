import { annotations, labels, parsePromise } from '@dovetail/core-api';
import { parseRetirement, type Retirement } from '@dovetail/core-disruption';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import type { Stage } from '@dovetail/sim-stage';

const { nodeClaims, nodes, pods } = kubeResources;

/** Objects of the API, as far as the laws of the simulation read them. */
export type Claim = KubeObject & {
  readonly spec?: { readonly requirements?: readonly { key: string; values?: string[] }[] };
  readonly status?: { readonly providerID?: string };
};
export type Node = KubeObject & {
  readonly spec?: {
    readonly providerID?: string;
    readonly taints?: readonly { readonly key: string }[];
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastTransitionTime?: string;
    }[];
  };
};
export type Pod = KubeObject & {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
};

/** All NodeClaims, as they are now. */
export const claimsOn = (stage: Stage): readonly Claim[] => stage.list(nodeClaims);
/** All Nodes, as they are now. */
export const nodesOn = (stage: Stage): readonly Node[] => stage.list(nodes);
/** All pods, as they are now. */
export const podsOn = (stage: Stage): readonly Pod[] => stage.list(pods);

/** Whether someone has asked for the object's deletion. */
export const isDeleted = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined;

const lastPart = (providerId = ''): string => providerId.split('/').at(-1) ?? '';

/** The instance of a node, by its provider ID. */
export const instanceOfNode = ({ spec }: Node): string => lastPart(spec?.providerID);

/** The instance of a claim, by its provider ID. Empty: it has none yet. */
export const instanceOfClaim = ({ status }: Claim): string => lastPart(status?.providerID);

/** The instance that a claim names, before its status does. */
export const namedInstance = (claim: Claim): string =>
  claim.metadata.annotations?.[annotations.instanceId] ?? instanceOfClaim(claim);

/** The NodePool of a claim or node; empty if it has none. */
export const poolOf = ({ metadata }: KubeObject): string =>
  metadata.labels?.[labels.nodePool] ?? '';

/** The retirement that stands on the node. */
export const retirementOf = ({ metadata }: KubeObject): Retirement | undefined =>
  parseRetirement(metadata.annotations?.[annotations.retirement]);

/** Whether the kubelet said last that the node is ready. */
export const isReady = ({ status }: Node): boolean =>
  (status?.conditions ?? []).some(({ type, status: is }) => type === 'Ready' && is === 'True');

/** Pods of the node that no one has asked to end. */
export const stayingPods = (stage: Stage, nodeName: string): readonly Pod[] =>
  podsOn(stage).filter((pod) => pod.spec?.nodeName === nodeName && !isDeleted(pod));

const isInitialized = ({ metadata }: Node): boolean =>
  metadata.labels?.[labels.initialized] === 'true';

/** UIDs of the pods whose successors are promised room on a node that can take them. */
export function podsWithRoom(stage: Stage): ReadonlySet<string> {
  const able = nodesOn(stage).filter(isInitialized);
  const ids = new Set(able.map(instanceOfNode));
  const claims = claimsOn(stage).filter((claim) => ids.has(namedInstance(claim)));
  return new Set(
    [...claims, ...able].flatMap(
      ({ metadata }) => parsePromise(metadata.annotations?.[annotations.promise])?.forPodUids ?? [],
    ),
  );
}
