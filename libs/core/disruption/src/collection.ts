import { annotations, tags, type NodeClaim } from '@dovetail/core-api';
import { byText, note, type DisruptionNote } from './refusal.js';
import { conditionTrueSinceMs, instanceIdOf } from './view.js';

/** An instance, as far as collecting reads it. */
export type FoundInstance = { readonly id: string; readonly state: string; readonly launchedMs: number; readonly tags: Readonly<Record<string, string>> };

export type CollectionInput = {
  /** Everything in EC2 that carries this cluster's name tag. Listed BEFORE the claims: a claim made in between is then seen. */
  readonly instances: readonly FoundInstance[];
  /** All NodeClaims, read live after the instances. */
  readonly claims: readonly NodeClaim[];
  /** What claims hold that could not be read: their instances are theirs all the same, and one broken claim stops nothing else. */
  readonly alsoHeld?: { readonly instanceIds: ReadonlySet<string>; readonly intentIds: ReadonlySet<string> };
  /** Names of nodes that are Ready: their instance runs, whatever EC2's answer leaves out. */
  readonly readyNodes: ReadonlySet<string>;
  /** UID of this API server's kube-system namespace. */
  readonly clusterUid: string;
  readonly nowMs: number;
  readonly limits: CollectionLimits;
};

export type CollectionLimits = {
  /** Younger instances are left alone: EC2 and the API server may not have told each other yet (Karpenter: 30 s). */
  readonly instanceAgeMinMs: number;
  /** A claim whose instance is missing is believed lost only this long after it was launched: EC2 may show it late. */
  readonly claimAgeMinMs: number;
  /** One pass ends at most this share of the fleet … */
  readonly fleetShareMax: number;
  /** … or this many, whichever is more, so that a small cluster can be tidied at all. */
  readonly alwaysAllowed: number;
};

export type Collection = {
  readonly terminate: readonly FoundInstance[];
  readonly deleteClaims: readonly NodeClaim[];
  /** Why a direction was stopped altogether. Somebody has to look: nothing is collected until the cause is gone. */
  readonly brakes: readonly DisruptionNote[];
};

const running = new Set(['pending', 'running', 'stopping', 'stopped']);

/** The id of the launch intent that an annotation carries: its first word. */
export const intentIdOf = (text: string | undefined): string | undefined => text?.split(' ', 1)[0];

/** Ids of the launch intents that some claim without an instance still carries: their instances are the launcher's to pair. */
const openIntents = (claims: readonly NodeClaim[]): ReadonlySet<string> =>
  new Set(claims.filter((claim) => instanceIdOf(claim) === undefined).flatMap((claim) => intentIdOf(claim.annotations[annotations.launchIntent]) ?? []));

function strayInstances(input: CollectionInput): readonly FoundInstance[] {
  const claimed = new Set(input.claims.flatMap((claim) => instanceIdOf(claim) ?? []));
  const open = openIntents(input.claims);
  return input.instances.filter((instance) =>
    running.has(instance.state) && !claimed.has(instance.id) && input.nowMs - instance.launchedMs > input.limits.instanceAgeMinMs
    && !open.has(instance.tags[tags.launchIntent] ?? '')
    && input.alsoHeld?.instanceIds.has(instance.id) !== true && input.alsoHeld?.intentIds.has(instance.tags[tags.launchIntent] ?? '') !== true).toSorted((a, b) => byText(a.id, b.id));
}

function lostClaims(input: CollectionInput): readonly NodeClaim[] {
  const alive = new Set(input.instances.filter(({ state }) => running.has(state)).map(({ id }) => id));
  return input.claims.filter((claim) => {
    const id = instanceIdOf(claim);
    if (id === undefined || claim.deletionMs !== undefined || alive.has(id)) return false;
    const launchedMs = conditionTrueSinceMs(claim, 'Launched') ?? claim.createdMs;
    return input.nowMs - launchedMs > input.limits.claimAgeMinMs && !(claim.nodeName !== undefined && input.readyNodes.has(claim.nodeName));
  }).toSorted((a, b) => byText(a.name, b.name));
}

function braked(what: string, wanted: number, fleet: number, limits: CollectionLimits): DisruptionNote | undefined {
  const allowed = Math.max(limits.alwaysAllowed, Math.floor(fleet * limits.fleetShareMax));
  if (wanted <= allowed) return undefined;
  return note('collection-brake', `${String(wanted)} of ${String(fleet)} ${what} would be collected in one pass, over the limit of ${String(allowed)}: none is`, { what, wanted, fleet, allowed });
}

/**
 * What lies about: instances that carry our cluster's tags and belong to no claim, and claims whose instance is gone. Instances of
 * another cluster of the same name stop everything; a pass that would end too much of the fleet stops that direction. Both are
 * signs that it is us who are wrong.
 */
export function planCollection(input: CollectionInput): Collection {
  const foreign = input.instances.filter((instance) => (instance.tags[tags.clusterUid] ?? input.clusterUid) !== input.clusterUid && running.has(instance.state));
  const [first] = foreign;
  if (first !== undefined) {
    const other = first.tags[tags.clusterUid] ?? '';
    const message = `${String(foreign.length)} instances carry this cluster's name but the UID ${other}, not ${input.clusterUid}: two clusters share a name, or this is the wrong API server`;
    return { terminate: [], deleteClaims: [], brakes: [note('cluster-mismatch', message, { instances: foreign.length, theirs: other, ours: input.clusterUid, first: first.id })] };
  }
  const stray = strayInstances(input);
  const lost = lostClaims(input);
  const fleet = input.instances.filter(({ state }) => running.has(state)).length;
  const strayBrake = braked('instances', stray.length, fleet, input.limits);
  const lostBrake = braked('claims', lost.length, input.claims.length, input.limits);
  return {
    terminate: strayBrake === undefined ? stray : [],
    deleteClaims: lostBrake === undefined ? lost : [],
    brakes: [strayBrake, lostBrake].filter((brake) => brake !== undefined),
  };
}
