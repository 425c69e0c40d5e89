import { annotations, type ConditionStatus, type NodeClaim } from '@dovetail/core-api';
import { emptySinceAnnotation } from '@dovetail/core-disruption';
import { kubeResources, type KubeApi, type KubeObject } from '@dovetail/core-ports';
import { editLive } from './edit.js';
import { withoutFinalizer } from './node-edits.js';

type ClaimRef = Pick<NodeClaim, 'name' | 'uid'>;
const place = (claim: ClaimRef) => ({ resource: kubeResources.nodeClaims, name: claim.name, uid: claim.uid });

/** RFC 3339 in whole seconds, as metadata times are. */
export const timeText = (ms: number): string => new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z');

export const deleteClaim = (kube: KubeApi, claim: ClaimRef): Promise<void> => kube.delete({ resource: kubeResources.nodeClaims, name: claim.name }, { uid: claim.uid });

/** Writes the time by which the node must be gone; an earlier one that stands already stays. */
export const writeDeadline = (kube: KubeApi, claim: ClaimRef, deadlineMs: number): Promise<KubeObject | undefined> =>
  editLive(kube, place(claim), (object) => {
    const carried = Date.parse(object.metadata.annotations?.[annotations.terminationTimestamp] ?? '');
    return carried <= deadlineMs ? undefined : { metadata: { annotations: { [annotations.terminationTimestamp]: timeText(deadlineMs) } } };
  });

/** Says since when the node is empty, or that it is not. A time that stands already stays: the first one counts. */
export const writeEmptySince = (kube: KubeApi, claim: ClaimRef, sinceMs: number | undefined): Promise<KubeObject | undefined> =>
  editLive(kube, place(claim), (object) => {
    const marked = object.metadata.annotations?.[emptySinceAnnotation] !== undefined;
    if (marked === (sinceMs !== undefined)) return undefined;
    return { metadata: { annotations: { [emptySinceAnnotation]: sinceMs === undefined ? null : new Date(sinceMs).toISOString() } } };
  });

/** Says when a pod last came or went. */
export const writePodEvent = (kube: KubeApi, claim: ClaimRef, atMs: number): Promise<KubeObject | undefined> =>
  editLive(kube, place(claim), () => ({ status: { lastPodEventTime: timeText(atMs) } }), { subresource: 'status' });

export type ConditionToWrite = { readonly type: string; readonly status: ConditionStatus; readonly reason: string; readonly message?: string };
type RawCondition = { readonly type?: string; readonly status?: string; readonly reason?: string };

/** Sets conditions that differ, keeping all others; the transition time is that of the change of status. */
export const writeConditions = (kube: KubeApi, claim: ClaimRef, wanted: readonly ConditionToWrite[], nowMs: number): Promise<KubeObject | undefined> =>
  editLive(kube, place(claim), (object) => {
    const held = (object['status'] as { readonly conditions?: readonly RawCondition[] } | undefined)?.conditions ?? [];
    const changed = wanted.filter((one) => !held.some(({ type, status, reason }) => type === one.type && status === one.status && reason === one.reason));
    if (changed.length === 0) return undefined;
    const kept = held.filter(({ type }) => !changed.some((one) => one.type === type));
    return { status: { conditions: [...kept, ...changed.map((one) => ({ message: '', ...one, lastTransitionTime: timeText(nowMs) }))] } };
  }, { subresource: 'status' });

/** Takes a condition away, if it stands. */
export const clearCondition = (kube: KubeApi, claim: ClaimRef, condition: string): Promise<KubeObject | undefined> =>
  editLive(kube, place(claim), (object) => {
    const held = (object['status'] as { readonly conditions?: readonly RawCondition[] } | undefined)?.conditions ?? [];
    return held.some(({ type }) => type === condition) ? { status: { conditions: held.filter(({ type }) => type !== condition) } } : undefined;
  }, { subresource: 'status' });

/** The claim may go: its instance is gone. */
export const releaseClaim = (kube: KubeApi, claim: ClaimRef): Promise<KubeObject | undefined> => editLive(kube, place(claim), withoutFinalizer);
