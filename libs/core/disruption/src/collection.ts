import { annotations, type NodeClaim, tags } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import { present } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from './refusal.js';
import { conditionTrueSinceMs } from './view.js';

/** The parts of an instance that collection reads. */
export type FoundInstance = {
  readonly id: string;
  readonly state: string;
  readonly launchedMs: number;
  readonly tags: Readonly<Record<string, string>>;
};

/** Everything that one pass of collection reads. */
export type CollectionInput = {
  /**
   * All instances with this cluster's name tag. Invariant: listed before the claims, so a claim
   * made in between is seen.
   */
  readonly instances: readonly FoundInstance[];
  /** All NodeClaims, read live after the instances. */
  readonly claims: readonly NodeClaim[];
  /**
   * Instances and intents of claims that could not be read. They are kept, and one broken claim
   * stops nothing else.
   */
  readonly alsoHeld?: {
    readonly instanceIds: ReadonlySet<string>;
    readonly intentIds: ReadonlySet<string>;
  };
  /** Names of nodes that are Ready. Their instance runs, even if EC2's answer lacks it. */
  readonly readyNodes: ReadonlySet<string>;
  /** The UID of this API server's kube-system namespace. */
  readonly clusterUid: string;
  readonly nowMs: number;
  readonly limits: CollectionLimits;
};

/** The limits of one pass. They trade tidiness against the risk of ending nodes by mistake. */
export type CollectionLimits = {
  /**
   * Younger instances are left alone, because their claim may not show them yet (Karpenter: 30 s).
   */
  readonly instanceAgeMinMs: number;
  /**
   * A claim whose instance is missing counts as lost only this long after its launch, because EC2
   * may show it late.
   */
  readonly claimAgeMinMs: number;
  /** One pass ends at most this share of the fleet, */
  readonly fleetShareMax: number;
  /** or this many, whichever is more, so that a small cluster can be tidied. */
  readonly alwaysAllowed: number;
};

/** The result of one pass. */
export type Collection = {
  readonly terminate: readonly FoundInstance[];
  readonly deleteClaims: readonly NodeClaim[];
  /**
   * The reasons for which a direction was stopped. An operator has to look: nothing is collected
   * until they are gone.
   */
  readonly brakes: readonly DisruptionNote[];
};

const running = new Set(['pending', 'running', 'stopping', 'stopped']);

/** The id of the launch intent in an annotation: its first word. */
export const intentIdOf = (text: string | undefined): string | undefined => text?.split(' ', 1)[0];

/** The launch intents of claims without an instance. The launcher still pairs their instances. */
const openIntents = (claims: readonly NodeClaim[]): ReadonlySet<string> =>
  new Set(
    claims
      .filter((claim) => instanceIdOf(claim) === undefined)
      .flatMap((claim) => intentIdOf(claim.annotations[annotations.launchIntent]) ?? []),
  );

function strayInstances(input: CollectionInput): readonly FoundInstance[] {
  const claimed = new Set(input.claims.flatMap((claim) => instanceIdOf(claim) ?? []));
  const open = openIntents(input.claims);
  return input.instances
    .filter(
      (instance) =>
        running.has(instance.state) &&
        !claimed.has(instance.id) &&
        input.nowMs - instance.launchedMs > input.limits.instanceAgeMinMs &&
        !open.has(instance.tags[tags.launchIntent] ?? '') &&
        input.alsoHeld?.instanceIds.has(instance.id) !== true &&
        input.alsoHeld?.intentIds.has(instance.tags[tags.launchIntent] ?? '') !== true,
    )
    .toSorted((a, b) => compareText(a.id, b.id));
}

function lostClaims(input: CollectionInput): readonly NodeClaim[] {
  const alive = new Set(
    input.instances.filter(({ state }) => running.has(state)).map(({ id }) => id),
  );
  return input.claims
    .filter((claim) => {
      const id = instanceIdOf(claim);
      if (id === undefined || claim.deletionMs !== undefined || alive.has(id)) return false;
      const launchedMs = conditionTrueSinceMs(claim, 'Launched') ?? claim.createdMs;
      return (
        input.nowMs - launchedMs > input.limits.claimAgeMinMs &&
        !(claim.nodeName !== undefined && input.readyNodes.has(claim.nodeName))
      );
    })
    .toSorted((a, b) => compareText(a.name, b.name));
}

function braked(
  what: string,
  wanted: number,
  fleet: number,
  limits: CollectionLimits,
): DisruptionNote | undefined {
  const allowed = Math.max(limits.alwaysAllowed, Math.floor(fleet * limits.fleetShareMax));
  if (wanted <= allowed) return undefined;
  return note(
    'collection-brake',
    `${String(wanted)} of ${String(fleet)} ${what} would be collected in one pass, over the limit of ${String(allowed)}: none is`,
    { what, wanted, fleet, allowed },
  );
}

/**
 * Plans one pass: it ends instances with our cluster's tags that belong to no claim, and claims
 * whose instance is gone. Instances of another cluster of the same name stop both directions. A
 * pass that would end too much of the fleet stops that direction. Either shows that our own view is
 * wrong.
 */
export function planCollection(input: CollectionInput): Collection {
  const foreign = input.instances.filter(
    (instance) =>
      (instance.tags[tags.clusterUid] ?? input.clusterUid) !== input.clusterUid &&
      running.has(instance.state),
  );
  const [first] = foreign;
  if (first !== undefined) {
    const other = present(first.tags[tags.clusterUid], 'a foreign instance names its cluster');
    const message = `${String(foreign.length)} instances carry this cluster's name but the UID ${other}, not ${input.clusterUid}: two clusters share a name, or this is the wrong API server`;
    return {
      terminate: [],
      deleteClaims: [],
      brakes: [
        note('cluster-mismatch', message, {
          instances: foreign.length,
          theirs: other,
          ours: input.clusterUid,
          first: first.id,
        }),
      ],
    };
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
