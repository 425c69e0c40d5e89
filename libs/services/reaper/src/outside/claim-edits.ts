import {
  annotations,
  type Condition,
  type NodeClaim,
  terminationFinalizer,
} from '@dovetail/core-api';
import {
  consolidatableType,
  emptySinceAnnotation,
  type LeftAlone,
  leftAloneAnnotation,
  type MovedHere,
  movedHereAnnotation,
  renderLeftAlone,
  renderMovedHere,
} from '@dovetail/core-disruption';
import { isoSeconds } from '@dovetail/core-kube-model';
import { type KubeDeletes, type KubeObject, kubeResources } from '@dovetail/core-ports';
import {
  changeConditions,
  type ChangedObject,
  changeGuarded,
  changeLive,
  conditionObjects,
  conditionsIn,
  holdsCondition,
  type KubeChanges,
  type NewCondition,
  withCondition,
  withoutCondition,
  withoutFinalizer,
} from '@dovetail/service-kit';

/** A claim to write to. Every write answers the object as it is then; undefined when it is gone. */
export type ClaimRef = Pick<NodeClaim, 'name' | 'uid'>;

const place = ({ name, uid }: ClaimRef): ChangedObject => ({
  resource: kubeResources.nodeClaims,
  name,
  uid,
});

/** Asks for the claim's deletion; its finalizer keeps it until its instance is gone. */
export const deleteClaim = (kube: KubeDeletes, claim: ClaimRef): Promise<void> =>
  kube.delete({ resource: kubeResources.nodeClaims, name: claim.name }, { uid: claim.uid });

/**
 * Writes the time by which the node must be gone; an earlier one that stands already stays. It
 * begins with the claim as it was read: a deadline only moves earlier, so what stands there holds.
 */
export async function writeDeadline(
  kube: KubeChanges,
  claim: NodeClaim,
  deadlineMs: number,
): Promise<void> {
  await changeGuarded({
    kube,
    ref: place(claim),
    read: ({ metadata }) => metadata.annotations ?? {},
    first: { value: claim.annotations, resourceVersion: claim.resourceVersion },
    change: (held) =>
      Date.parse(held[annotations.terminationTimestamp] ?? '') <= deadlineMs
        ? undefined
        : {
            metadata: {
              annotations: { [annotations.terminationTimestamp]: isoSeconds(deadlineMs) },
            },
          },
  });
}

/**
 * Writes since when the node is empty; undefined: it is not. A time that stands already stays,
 * because the first one counts. Answers whether anything was to be written.
 */
export async function writeEmptySince(
  kube: KubeChanges,
  claim: ClaimRef,
  sinceMs: number | undefined,
): Promise<boolean> {
  let isDue = false;
  const text = sinceMs === undefined ? null : new Date(sinceMs).toISOString();
  const claimAfter = await changeLive(kube, place(claim), ({ metadata }) => {
    const isMarked = metadata.annotations?.[emptySinceAnnotation] !== undefined;
    isDue = isMarked !== (sinceMs !== undefined);
    return isDue ? { metadata: { annotations: { [emptySinceAnnotation]: text } } } : undefined;
  });
  return isDue && claimAfter !== undefined;
}

/** Writes that a command moves pods to the claim's node, so that the next leaves them alone. */
export const writeMovedHere = (
  kube: KubeChanges,
  claim: ClaimRef,
  moved: MovedHere,
): Promise<KubeObject | undefined> =>
  changeLive(kube, place(claim), () => ({
    metadata: { annotations: { [movedHereAnnotation]: renderMovedHere(moved) } },
  }));

/** Writes for how long the claim's node is left alone, for the next leader. */
export const writeLeftAlone = (
  kube: KubeChanges,
  claim: ClaimRef,
  leftAlone: LeftAlone,
): Promise<KubeObject | undefined> =>
  changeLive(kube, place(claim), () => ({
    metadata: { annotations: { [leftAloneAnnotation]: renderLeftAlone(leftAlone) } },
  }));

/** The parts of a claim's status that tell how long its node has been at rest. Absent: as it is. */
export type RestStatus = {
  /** When a pod last came or went. */
  readonly lastPodEventMs?: number;
  /** The message of the condition Consolidatable; false: the claim does not have it. */
  readonly consolidatable?: { readonly message: string } | false;
};

/**
 * Writes how long a node has been at rest, to a claim as the watch has shown it. That costs one
 * call, or none if all of it stands.
 */
export async function writeRest(
  kube: KubeChanges,
  claim: NodeClaim,
  { lastPodEventMs, consolidatable }: RestStatus,
  nowMs: number,
): Promise<void> {
  const time = lastPodEventMs === undefined ? {} : { lastPodEventTime: isoSeconds(lastPodEventMs) };
  const { conditions: value, resourceVersion } = claim;
  await changeGuarded({
    kube,
    ref: place(claim),
    read: conditionsIn,
    subresource: 'status',
    first: { value, resourceVersion },
    change: (held) => {
      const wanted = consolidatable === undefined ? held : withRest(held, consolidatable, nowMs);
      if (wanted === held) return lastPodEventMs === undefined ? undefined : { status: time };
      return { status: { ...time, conditions: conditionObjects(wanted) } };
    },
  });
}

const withRest = (
  held: readonly Condition[],
  consolidatable: NonNullable<RestStatus['consolidatable']>,
  nowMs: number,
): readonly Condition[] =>
  consolidatable === false
    ? withoutCondition(held, consolidatableType)
    : withCondition(
        held,
        { type: consolidatableType, status: 'True', reason: consolidatableType, ...consolidatable },
        nowMs,
      );

/** Sets these conditions and keeps all others. */
export const writeConditions = (
  kube: KubeChanges,
  claim: ClaimRef,
  wanted: readonly NewCondition[],
  nowMs: number,
): Promise<KubeObject | undefined> =>
  changeConditions(kube, place(claim), (held) =>
    wanted.reduce((conditions, next) => withCondition(conditions, next, nowMs), held),
  );

/**
 * Sets a condition of a claim as the watch has shown it. That costs one call, or none if it stands.
 */
export async function writeWatchedCondition(
  kube: KubeChanges,
  claim: NodeClaim,
  wanted: NewCondition,
  nowMs: number,
): Promise<void> {
  if (holdsCondition(claim.conditions, wanted)) return;
  const { conditions: value, resourceVersion } = claim;
  await changeGuarded({
    kube,
    ref: place(claim),
    read: conditionsIn,
    subresource: 'status',
    first: { value, resourceVersion },
    change: (held) => ({
      status: { conditions: conditionObjects(withCondition(held, wanted, nowMs)) },
    }),
  });
}

/** Takes a condition away, if it stands. */
export const clearCondition = (
  kube: KubeChanges,
  claim: ClaimRef,
  type: string,
): Promise<KubeObject | undefined> =>
  changeConditions(kube, place(claim), (held) => withoutCondition(held, type));

/** Lets the claim go: its instance is gone. */
export const releaseClaim = (kube: KubeChanges, claim: ClaimRef): Promise<KubeObject | undefined> =>
  changeLive(kube, place(claim), ({ metadata }) =>
    withoutFinalizer(metadata, terminationFinalizer),
  );
