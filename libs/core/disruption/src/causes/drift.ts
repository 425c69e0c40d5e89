import {
  annotations,
  classHashAnnotations,
  isWithoutPool,
  labels,
  type NodeClaim,
  type NodeClass,
  type Pool,
  poolHashAnnotations,
  poolKey,
} from '@dovetail/core-api';
import { amiOfType, type InstanceType } from '@dovetail/core-ec2-model';
import { lookUp } from '@dovetail/core-invariant';
import {
  compareText,
  compatible,
  requirementsFromLabels,
  requirementsOf,
} from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';
import { conditionTrueSinceMs, type NodeView } from '../facts/view.js';
import { disruptionBlocks } from '../rules/eligibility.js';
import { movingPods } from '../rules/moving-pods.js';
import type { CauseFacts, Standing } from './standing.js';
import { templateChange } from './template-changes.js';

/** Why a node is no longer what its pool and class ask for, in Karpenter's words and order. */
type DriftReason =
  | 'NodePoolDrifted'
  | 'RequirementsDrifted'
  | 'InstanceTypeNotFound'
  | 'NodeClassDrift'
  | 'AMIDrift'
  | 'SecurityGroupDrift'
  | 'SubnetDrift';

/** The condition of a claim whose node has drifted (Karpenter's). */
export const driftedType = 'Drifted';

/** Everything that decides whether a claim has drifted. An absent field is not known. */
export type DriftFacts = {
  readonly claim: NodeClaim;
  readonly pool?: Pool;
  /** The class with the findings of discovery, and with the hash that claims carry. */
  readonly nodeClass?: NodeClass;
  /** The types of the class, with the offerings that are unavailable now. */
  readonly types: ReadonlyMap<string, InstanceType>;
  /** The instance, as EC2 showed it last. */
  readonly instance?: { readonly subnetId?: string; readonly securityGroupIds: readonly string[] };
  /** How long the type of the node is missing already. */
  readonly typeMissingMs: number;
};

/** `unknown`: something that decides cannot be told now, so that the condition stays as it is. */
export type Drift =
  | { readonly kind: 'drifted'; readonly reason: DriftReason; readonly message: string }
  | { readonly kind: 'none' }
  | { readonly kind: 'unknown' };

/** Cannot be told now. */
const unknown = Symbol('unknown');
/** Text: drifted, and how. */
type Finding = string | typeof unknown | undefined;

/** A type counts as gone after this time (Karpenter's). EC2's lists may lack a type for a while. */
const typeMissingMsMin = 3_600_000;

type Hashes = Readonly<Record<string, string>>;

/** Whether the annotations of a claim have another hash of `what`, of the version in force. */
function hashFinding(
  claim: NodeClaim,
  wanted: Hashes,
  about: {
    readonly hashKey: string;
    readonly what: string;
    /** The field that changed, if that can be told. */
    readonly change?: string | undefined;
  },
): Finding {
  const { hashKey, what, change } = about;
  const differing = Object.keys(wanted).filter(
    (key) => lookUp(claim.annotations, key) !== lookUp(wanted, key),
  );
  // Another version cannot be compared. A claim without hashes is none that we could judge.
  if (differing.length !== 1 || differing[0] !== hashKey) return undefined;
  const held = lookUp(claim.annotations, hashKey);
  return held === undefined
    ? undefined
    : `${what} has changed since it was made (${change ?? `hash ${held}, now ${lookUp(wanted, hashKey)}`})`;
}

const poolFinding = ({ claim, pool }: DriftFacts): Finding =>
  pool === undefined
    ? unknown
    : hashFinding(claim, poolHashAnnotations(pool), {
        hashKey: annotations.nodePoolHash,
        what: `the template of ${poolKey(pool.identity)}`,
        change: templateChange(claim, pool),
      });

const classFinding = ({ claim, nodeClass }: DriftFacts): Finding =>
  nodeClass === undefined
    ? unknown
    : hashFinding(claim, classHashAnnotations(nodeClass), {
        hashKey: annotations.nodeClassHash,
        what: `the spec of ${nodeClass.ref.kind}/${nodeClass.ref.name}`,
      });

/**
 * Compares the labels of the claim with the requirements of its pool. For a key without a label
 * the claim's own requirement stands in, so that a node fits the pool that it was just made for.
 */
function requirementsFinding({ claim, pool }: DriftFacts): Finding {
  if (pool === undefined) return unknown;
  const offered = new Map([
    ...requirementsOf(claim.requirements),
    ...requirementsFromLabels(claim.labels),
  ]);
  const [first] = compatible(offered, requirementsOf(pool.requirements), {
    allowUndefined: new Set(),
  });
  return first === undefined
    ? undefined
    : `${first.key} is ${first.offered}, the pool wants ${first.wanted}`;
}

/** Whether the type of a claim, or its place in it, is gone from the catalog of its class. */
export function isTypeMissing({ claim, types }: Pick<DriftFacts, 'claim' | 'types'>): boolean {
  const name = claim.labels[labels.instanceType];
  if (name === undefined || types.size === 0) return false;
  const capacityType = claim.labels[labels.capacityType];
  const zone = claim.labels[labels.zone];
  const isOffered = types
    .get(name)
    ?.offerings.some(
      (offering) =>
        (zone === undefined || offering.zone === zone) &&
        (capacityType === undefined ||
          offering.capacityType === capacityType ||
          (capacityType === 'reserved' && offering.capacityType === 'on-demand')),
    );
  return isOffered !== true;
}

function typeFinding(facts: DriftFacts): Finding {
  const { claim, types, typeMissingMs } = facts;
  if (claim.labels[labels.instanceType] === undefined || types.size === 0) return unknown;
  if (!isTypeMissing(facts) || typeMissingMs < typeMissingMsMin) return undefined;
  return `${claim.labels[labels.instanceType] ?? ''} is not offered any more`;
}

// A launch template of the user's own may change at any time; only another name of it is drift.
function imageFinding({ claim, nodeClass, types }: DriftFacts): Finding {
  if (nodeClass?.launchTemplateName !== undefined) return undefined;
  const type = types.get(claim.labels[labels.instanceType] ?? '');
  const amis = nodeClass?.status.amis ?? [];
  if (type === undefined || amis.length === 0 || claim.imageId === undefined) return unknown;
  const wanted = amiOfType(amis, type)?.id;
  return wanted === claim.imageId
    ? undefined
    : `the image is ${claim.imageId}, the class selects ${wanted ?? 'none for this type'}`;
}

function groupFinding({ nodeClass, instance }: DriftFacts): Finding {
  if (nodeClass?.launchTemplateName !== undefined) return undefined;
  const wanted = sortedIds(nodeClass?.status.securityGroups ?? []);
  if (instance === undefined || wanted === '') return unknown;
  const held = sortedIds(instance.securityGroupIds.map((id) => ({ id })));
  return wanted === held ? undefined : `the groups are ${held}, the class selects ${wanted}`;
}

const sortedIds = (all: readonly { readonly id: string }[]): string =>
  [...new Set(all.map(({ id }) => id))].sort(compareText).join(',');

function subnetFinding({ nodeClass, instance }: DriftFacts): Finding {
  const subnets = nodeClass?.status.subnets ?? [];
  if (instance?.subnetId === undefined || subnets.length === 0) return unknown;
  return subnets.some(({ id }) => id === instance.subnetId)
    ? undefined
    : `the class selects ${instance.subnetId} no more`;
}

const findings: readonly (readonly [DriftReason, (facts: DriftFacts) => Finding])[] = [
  ['NodePoolDrifted', poolFinding],
  ['RequirementsDrifted', requirementsFinding],
  ['InstanceTypeNotFound', typeFinding],
  ['NodeClassDrift', classFinding],
  ['AMIDrift', imageFinding],
  ['SecurityGroupDrift', groupFinding],
  ['SubnetDrift', subnetFinding],
];

/**
 * Decides whether a launched claim has drifted from its pool and class. The first reason in
 * Karpenter's order counts. Discovery that has found nothing is a fault of discovery and never
 * drift. A claim without a pool, or without an instance, does not drift.
 */
export function driftOf(facts: DriftFacts): Drift {
  const { claim } = facts;
  if (isWithoutPool(claim) || conditionTrueSinceMs(claim, 'Launched') === undefined)
    return { kind: 'none' };
  let isKnown = true;
  for (const [reason, find] of findings) {
    const message = find(facts);
    if (message === unknown) isKnown = false;
    else if (message !== undefined) return { kind: 'drifted', reason, message };
  }
  return { kind: isKnown ? 'none' : 'unknown' };
}

/**
 * The annotations to write on a claim whose hashes are of another version than ours: Karpenter's
 * or an older one. The version is always written. The hash is not written on a claim that
 * has drifted, because it would hide that.
 */
export function hashMigration(
  claim: NodeClaim,
  { pool, nodeClass }: Pick<DriftFacts, 'pool' | 'nodeClass'>,
): Hashes {
  const isDrifted = conditionTrueSinceMs(claim, driftedType) !== undefined;
  const migrated = (wanted: Hashes, versionKey: string): Hashes => {
    const version = lookUp(wanted, versionKey);
    if (version === undefined || lookUp(claim.annotations, versionKey) === version) return {};
    return isDrifted ? { [versionKey]: version } : wanted;
  };
  return {
    ...(pool === undefined
      ? {}
      : migrated(poolHashAnnotations(pool), annotations.nodePoolHashVersion)),
    ...(nodeClass === undefined
      ? {}
      : migrated(classHashAnnotations(nodeClass), annotations.nodeClassHashVersion)),
  };
}

/** A drift that the reaper mends: since when, and its reason. */
type ReplaceableDrift = {
  readonly sinceMs: number;
  readonly detail: string;
  readonly note: DisruptionNote;
};

/**
 * The drift of a node that is to be replaced. Nodes of a static pool have no replacement yet. Those
 * of a Provisioner stay, because drift was a feature that its Karpenter had switched off.
 */
export function replaceableDrift({ claim, pool }: NodeView): ReplaceableDrift | undefined {
  const drifted = claim.conditions.find(
    ({ type, status }) => type === driftedType && status === 'True',
  );
  if (drifted === undefined || pool?.identity.kind !== 'NodePool' || pool.replicas !== undefined)
    return undefined;
  const { reason, message, lastTransitionMs } = drifted;
  return {
    sinceMs: lastTransitionMs,
    detail: reason,
    note: note('drifted', `${reason}: ${message}`, { reason }),
  };
}

/** Why a node that is being replaced for its drift stays: it has drifted no more. */
export function driftOver(view: NodeView): DisruptionNote | undefined {
  const { name: claim } = view.claim;
  return replaceableDrift(view) === undefined
    ? note('drift-ended', `${claim} is again what its pool and class ask for`, { claim })
    : undefined;
}

/** How a node stands for drift. A node with pods to move asks a solver for their places first. */
export function driftedStanding(view: NodeView, facts: CauseFacts): Standing {
  const drift = replaceableDrift(view);
  if (drift === undefined) {
    const hasDrifted = conditionTrueSinceMs(view.claim, driftedType) !== undefined;
    const why = hasDrifted
      ? note('drifted', 'it has drifted, and nodes of such a pool are not replaced for it')
      : note('not-drifted', 'it is as its pool and class ask for');
    return { kind: 'stays', notes: [why] };
  }
  const { sinceMs, note: why, detail } = drift;
  const due = { kind: 'due', sinceMs, note: why, record: { detail } } as const;
  const blocks = disruptionBlocks(view, { ...facts, isEventual: true });
  if (blocks.length > 0 || movingPods(view.pods, facts).length === 0)
    return { ...due, held: blocks };
  const answer = facts.placeAnswer?.(view.claim, 'drifted');
  return { ...due, held: [], isToAsk: answer === undefined, ...(answer ? { left: answer } : {}) };
}
