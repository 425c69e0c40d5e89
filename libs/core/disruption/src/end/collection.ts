import { annotations, type NodeClaim, tags } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import { present } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';

import { type DisruptionNote, note } from '../facts/refusal.js';
import { conditionTrueSinceMs } from '../facts/view.js';

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
   * All instances with this cluster's name tag, whatever else they carry. Invariant: listed before
   * the claims, so a claim made in between is seen.
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
  /**
   * The states of instances that were asked for by id, those of all `suspectedClaims` among them.
   * One that EC2 does not show is absent.
   */
  readonly stateById: ReadonlyMap<string, string>;
  /** Names of nodes that are Ready. Their instance runs, even if EC2's answer lacks it. */
  readonly readyNodes: ReadonlySet<string>;
  /** Instances of nodes that are Ready and registered. Pods may run there. */
  readonly readyInstances: ReadonlySet<string>;
  /** The UID of this API server's kube-system namespace. */
  readonly clusterUid: string;
  readonly nowMs: number;
  readonly limits: CollectionLimits;
  /** The notes of the pass before; `noMemory` at first. */
  readonly memory: CollectionMemory;
};

/** The facts that one pass leaves to the next. */
export type CollectionMemory = {
  /**
   * Since when something looks like a leftover, by the claim's UID or the instance's id, in
   * milliseconds since 1970.
   */
  readonly sinceMs: ReadonlyMap<string, number>;
  /** When instances and claims were planned to end, by the same keys. */
  readonly endedMs: {
    readonly instances: ReadonlyMap<string, number>;
    readonly claims: ReadonlyMap<string, number>;
  };
};

/** The memory of a leader that has just begun. */
export const noMemory: CollectionMemory = {
  sinceMs: new Map(),
  endedMs: { instances: new Map(), claims: new Map() },
};

/** The limits of collection. They trade tidiness against the risk of ending nodes by mistake. */
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
  /**
   * The time for which an instance must look like a leftover before it counts as one. It applies to
   * instances that EC2 does not show, or that run a Ready node without a claim.
   */
  readonly suspicionMinMs: number;
  /**
   * Within any hour, at most this share of the fleet is ended without EC2's word that it is gone,
   */
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
  readonly memory: CollectionMemory;
};

const running = new Set(['pending', 'running', 'stopping', 'stopped']);
const over = new Set(['shutting-down', 'terminated']);
const hourMs = 3_600_000;

const isOurs = ({ tags: held }: FoundInstance, { clusterUid }: CollectionInput): boolean =>
  held[tags.clusterUid] === clusterUid;

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
        isOurs(instance, input) &&
        !claimed.has(instance.id) &&
        input.nowMs - instance.launchedMs > input.limits.instanceAgeMinMs &&
        !open.has(instance.tags[tags.launchIntent] ?? '') &&
        input.alsoHeld?.instanceIds.has(instance.id) !== true &&
        input.alsoHeld?.intentIds.has(instance.tags[tags.launchIntent] ?? '') !== true,
    )
    .toSorted((a, b) => compareText(a.id, b.id));
}

/** The parts of a pass that tell which claims may have lost their instance. */
type Suspicion = Pick<CollectionInput, 'instances' | 'claims' | 'readyNodes' | 'nowMs' | 'limits'>;

/**
 * The claims whose instance the list does not show as running. A list by tags proves nothing of an
 * instance that is not in it, so each of these is then asked for by id.
 */
export function suspectedClaims(input: Suspicion): readonly NodeClaim[] {
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

const stateOfClaim = (claim: NodeClaim, { stateById }: CollectionInput): string | undefined =>
  stateById.get(instanceIdOf(claim) ?? '');

/** Whether the key has looked like a leftover for long enough. */
const isSuspectedLong = (key: string, { memory, nowMs, limits }: CollectionInput): boolean =>
  nowMs - (memory.sinceMs.get(key) ?? nowMs) >= limits.suspicionMinMs;

/** One direction of a pass: what it ends, and why it ends less than it could. */
type Direction<T> = { readonly end: readonly T[]; readonly brakes: readonly DisruptionNote[] };

/** A group of leftovers, and how many of them may be ended whatever the share allows. */
type Leftovers<T> = {
  readonly what: string;
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  readonly fleet: number;
  readonly alwaysAllowed: number;
};

function limited<T>(
  { what, items, keyOf, fleet, alwaysAllowed }: Leftovers<T>,
  endedMs: ReadonlyMap<string, number>,
  { limits, nowMs }: CollectionInput,
): Direction<T> {
  const ended = [...endedMs].filter(([, atMs]) => nowMs - atMs < hourMs).map(([key]) => key);
  const allowed = Math.max(alwaysAllowed, Math.floor(fleet * limits.fleetShareMax));
  const wanted = new Set([...ended, ...items.map(keyOf)]).size;
  if (items.length === 0 || wanted <= allowed) return { end: items, brakes: [] };
  const message = `${String(wanted)} of ${String(fleet)} ${what} would be collected within an hour, over the limit of ${String(allowed)}: none is`;
  return {
    end: [],
    brakes: [
      note('collection-brake', message, { what, wanted, fleet, allowed, ended: ended.length }),
    ],
  };
}

/**
 * Returns the strays that may end, in two groups. A stray that runs a Ready node has pods to lose,
 * so it must have looked like a stray for a while. Such nodes are also not ended merely because the
 * fleet is small.
 */
function straysToEnd(
  stray: readonly FoundInstance[],
  fleet: number,
  input: CollectionInput,
): Direction<FoundInstance> {
  const { limits, memory, readyInstances } = input;
  const ended = memory.endedMs.instances;
  const keyOf = ({ id }: FoundInstance): string => id;
  const isReady = ({ id }: FoundInstance): boolean => readyInstances.has(id);
  const silent = limited(
    {
      what: 'instances',
      items: stray.filter((one) => !isReady(one)),
      keyOf,
      fleet,
      alwaysAllowed: limits.alwaysAllowed,
    },
    ended,
    input,
  );
  const ready = limited(
    {
      what: 'instances with a Ready node and no NodeClaim',
      items: stray.filter((one) => isReady(one) && isSuspectedLong(one.id, input)),
      keyOf,
      fleet,
      alwaysAllowed: 0,
    },
    new Map([...ended, ...silent.end.map(({ id }) => [id, input.nowMs] as const)]),
    input,
  );
  return { end: [...silent.end, ...ready.end], brakes: [...silent.brakes, ...ready.brakes] };
}

/**
 * Claims whose instance is gone. EC2's word for it by id is enough. An instance that EC2 merely
 * does not show must be missing for a while, and an answer that shows nothing at all proves
 * nothing.
 */
function claimsToEnd(
  suspected: readonly NodeClaim[],
  input: CollectionInput,
): Direction<NodeClaim> {
  const gone = suspected.filter((claim) => over.has(stateOfClaim(claim, input) ?? ''));
  const missing = suspected.filter((claim) => stateOfClaim(claim, input) === undefined);
  if (missing.length > 0 && input.instances.length === 0 && input.stateById.size === 0) {
    const message = `EC2 shows no instance of this cluster, but ${String(missing.length)} NodeClaims have one: wrong account, region or rights are likelier. Delete the NodeClaims if it is true`;
    const values = { what: 'claims', wanted: missing.length, fleet: 0, allowed: 0, ended: 0 };
    return { end: [], brakes: [note('collection-brake', message, values)] };
  }
  const items = missing.filter(({ uid }) => isSuspectedLong(uid, input));
  const fleet = input.claims.length;
  const { alwaysAllowed } = input.limits;
  const ended = input.memory.endedMs.claims;
  const keyOf = ({ uid }: NodeClaim): string => uid;
  const leftovers = { what: 'claims', items, keyOf, fleet, alwaysAllowed };
  const { end, brakes } = limited(leftovers, ended, input);
  return { end: [...gone, ...end], brakes };
}

/** The brake of another cluster that shares our name, if there is one. */
function mismatch({ instances, clusterUid }: CollectionInput): DisruptionNote | undefined {
  const foreign = instances.filter(
    ({ tags: held, state }) =>
      (held[tags.clusterUid] ?? clusterUid) !== clusterUid && running.has(state),
  );
  const [first] = foreign;
  if (first === undefined) return undefined;
  const theirs = present(first.tags[tags.clusterUid], 'a foreign instance names its cluster');
  const message = `${String(foreign.length)} instances carry this cluster's name but the UID ${theirs}, not ${clusterUid}: two clusters share a name, or this is the wrong API server`;
  const values = { instances: foreign.length, theirs, ours: clusterUid, first: first.id };
  return note('cluster-mismatch', message, values);
}

/** The keys with the time that they had before, or now. */
const sinceOf = (
  keys: readonly string[],
  before: ReadonlyMap<string, number>,
  nowMs: number,
): ReadonlyMap<string, number> => new Map(keys.map((key) => [key, before.get(key) ?? nowMs]));

/** The times of the last hour, with those that end now. */
const endedOf = (
  before: ReadonlyMap<string, number>,
  keys: readonly string[],
  nowMs: number,
): ReadonlyMap<string, number> =>
  new Map([
    ...[...before].filter(([, atMs]) => nowMs - atMs < hourMs),
    ...keys.map((key) => [key, nowMs] as const),
  ]);

/**
 * Plans one pass: it ends instances with our cluster's tags that belong to no claim, and claims
 * whose instance is gone. Instances of another cluster of the same name stop both directions. An
 * hour in which too much of the fleet would end stops that direction. Either shows that our own
 * view is wrong.
 */
export function planCollection(input: CollectionInput): Collection {
  const { memory, nowMs } = input;
  const another = mismatch(input);
  if (another !== undefined) return { terminate: [], deleteClaims: [], brakes: [another], memory };
  const stray = strayInstances(input);
  const suspected = suspectedClaims(input);
  const fleet = input.instances.filter((one) => isOurs(one, input) && running.has(one.state));
  const strays = straysToEnd(stray, fleet.length, input);
  const lost = claimsToEnd(suspected, input);
  const missing = suspected.filter((claim) => stateOfClaim(claim, input) === undefined);
  const keys = [...stray.map(({ id }) => id), ...missing.map(({ uid }) => uid)];
  const { instances, claims } = memory.endedMs;
  const certain = new Set(suspected.filter((claim) => !missing.includes(claim)));
  const guessed = lost.end.filter((claim) => !certain.has(claim)).map(({ uid }) => uid);
  const endedMs = {
    instances: endedOf(
      instances,
      strays.end.map(({ id }) => id),
      nowMs,
    ),
    claims: endedOf(claims, guessed, nowMs),
  };
  return {
    terminate: strays.end,
    deleteClaims: lost.end,
    brakes: [...strays.brakes, ...lost.brakes],
    memory: { sinceMs: sinceOf(keys, memory.sinceMs, nowMs), endedMs },
  };
}
