import {
  type AdmissionNumber,
  compareAdmissions,
  type PlanCause,
  replacedNodes,
  type Replacement,
} from '@dovetail/contracts';
import { type Pool, poolKey } from '@dovetail/core-api';
import type { Churn, PoolHold } from '@dovetail/core-cluster';
import { lookUp } from '@dovetail/core-invariant';
import {
  fits,
  isReschedulable,
  isTerminal,
  type Pod,
  type Resources,
  subtractResources,
  sumResources,
} from '@dovetail/core-kube-model';
import type { ExistingNode, Reason } from '@dovetail/core-scheduling';

import { admissionText } from '../cluster/admission-mark.js';
import { reason } from './reason.js';

/**
 * Refuses a plan that waited too long: the cluster has probably changed, and its pods are batched
 * again. Both times are of the clock here.
 */
export function tooOld(
  plan: { readonly createdMs: number },
  nowMs: number,
  planAgeMaxMs: number,
): Reason | undefined {
  const ageMs = nowMs - plan.createdMs;
  return ageMs <= planAgeMaxMs
    ? undefined
    : reason(
        'plan-too-old',
        `the plan is ${Math.round(ageMs / 1000)} s old; the limit is ${planAgeMaxMs / 1000} s`,
        { ageMs, maxMs: planAgeMaxMs },
      );
}

/**
 * Refuses a plan of an older epoch: this leader does not know which groups its predecessor touched
 * last.
 */
export function olderEpoch(admissionSeen: AdmissionNumber, epoch: number): Reason | undefined {
  return admissionSeen.epoch >= epoch
    ? undefined
    : reason(
        'older-epoch',
        `the plan was made in epoch ${admissionSeen.epoch}, this is epoch ${epoch}`,
        { seen: admissionSeen.epoch, epoch },
      );
}

/** When each spread or affinity group was last touched, and by which plan. */
export type TouchedGroups = ReadonlyMap<
  string,
  { readonly admission: AdmissionNumber; readonly planId: string }
>;

/**
 * Refuses a bin that relies on a group which an admission unseen by its solver touched. Its own
 * plan's bins do not count.
 */
export function groupTouched(
  bin: { readonly topologyGroups: readonly string[] },
  plan: { readonly id: string; readonly admissionSeen: AdmissionNumber },
  touched: TouchedGroups,
): Reason | undefined {
  for (const group of bin.topologyGroups) {
    const last = touched.get(group);
    if (
      last === undefined ||
      last.planId === plan.id ||
      compareAdmissions(last.admission, plan.admissionSeen) <= 0
    )
      continue;
    return reason(
      'group-touched',
      `admission ${admissionText(last.admission)} placed pods in group ${group}, and the plan had only seen ${admissionText(plan.admissionSeen)}`,
      { group, admission: admissionText(last.admission), seen: admissionText(plan.admissionSeen) },
    );
  }
  return undefined;
}

/** The facts that the rules for pods read. */
export type PodFacts = {
  pod(uid: string): Pod | undefined;
  /** Name of the claim or node whose live promise holds the pod. */
  promisedTo(podUid: string): string | undefined;
};

const isToRun = (pod: Pod, { kind }: PlanCause): boolean =>
  !isTerminal(pod) && (pod.deletionMs === undefined || kind === 'replacement');

/**
 * Refuses a bin when one of its pods is gone or ending, bound already, or promised elsewhere. The
 * pods of a replacement must be bound on a node that it replaces instead. One that is ending
 * counts as well: its successor needs the same room, and the others must not lose theirs.
 */
export function podsNotFree(
  podUids: readonly string[],
  cause: PlanCause,
  facts: PodFacts,
): Reason | undefined {
  const pods = podUids.map((uid) => facts.pod(uid));
  const replaced = replacedBy(cause);
  for (const [index, uid] of podUids.entries()) {
    const pod = pods[index];
    if (pod === undefined || !isToRun(pod, cause)) {
      return reason(
        'pod-gone',
        `pod ${pod === undefined ? uid : `${pod.namespace}/${pod.name}`} is gone or ending`,
        { podUid: uid },
      );
    }
    const named = { podUid: uid, pod: `${pod.namespace}/${pod.name}` };
    if (cause.kind === 'replacement') {
      if (replaced.has(pod.nodeName)) continue;
      return reason('not-on-replaced-node', `pod ${named.pod} is not on ${namesOf(cause)}`, {
        ...named,
        node: pod.nodeName ?? '',
        replaced: cause.nodeName,
      });
    }
    if (pod.nodeName !== undefined)
      return reason('pod-bound', `pod ${named.pod} is bound to ${pod.nodeName}`, {
        ...named,
        node: pod.nodeName,
      });
    const holder = facts.promisedTo(uid);
    if (holder !== undefined)
      return reason('pod-promised', `pod ${named.pod} has room promised on ${holder}`, {
        ...named,
        holder,
      });
  }
  return cause.kind === 'replacement' ? nothingToReplace(pods, cause) : undefined;
}

/** Names of the nodes that the plan replaces. */
const replacedBy = (cause: PlanCause): ReadonlySet<string | undefined> =>
  new Set(cause.kind === 'pending' ? [] : replacedNodes(cause).map(({ nodeName }) => nodeName));

/** Replaced nodes that a refusal names; more would only make it longer. */
const namesMax = 5;

/** Refuses room for pods whose successors are there already: they are planned for themselves. */
const nothingToReplace = (
  pods: readonly (Pod | undefined)[],
  cause: Replacement,
): Reason | undefined =>
  pods.some((pod) => pod !== undefined && isReschedulable(pod))
    ? undefined
    : reason('pod-gone', `no pod of ${namesOf(cause)} needs another place any more`, {
        node: cause.nodeName,
      });

const namesOf = (cause: Replacement): string =>
  replacedNodes(cause)
    .slice(0, namesMax)
    .map(({ nodeName }) => nodeName)
    .join(', ');

/** Refuses a placement whose node (or claim in flight) is gone or being retired. */
export function nodeRetiring(
  placement: { readonly nodeName: string; readonly nodeUid: string },
  node: ExistingNode | undefined,
): Reason | undefined {
  const named = { node: placement.nodeName, nodeUid: placement.nodeUid };
  if (node === undefined) return reason('node-gone', `node ${placement.nodeName} is gone`, named);
  if (node.state === 'deleting')
    return reason('node-retiring', `node ${placement.nodeName} is being retired`, named);
  return undefined;
}

/** The room on a node beside its pods, its promises and the room kept for replacements. */
function roomOn(node: ExistingNode): Resources {
  const taken = sumResources([...node.pods, ...node.promisedPods].map((pod) => pod.requests));
  return subtractResources(subtractResources(node.allocatable, taken), node.reserved);
}

/** Refuses a placement that does not fit beside the node's pods and promises. */
export function nodeFull(requests: Resources, node: ExistingNode): Reason | undefined {
  const room = roomOn(node);
  if (fits(requests, room)) return undefined;
  const [resource = 'cpu'] = Object.keys(requests)
    .filter((name) => (lookUp(requests, name) ?? 0) > (lookUp(room, name) ?? 0))
    .sort();
  return reason(
    'node-full',
    `node ${node.name} has ${lookUp(room, resource) ?? 0} of ${resource} left, ${lookUp(requests, resource) ?? 0} is needed`,
    {
      node: node.name,
      resource,
      requested: lookUp(requests, resource) ?? 0,
      room: lookUp(room, resource) ?? 0,
    },
  );
}

/** Refuses a launch of a pool that has used up its launches per minute. */
export function launchRate(
  pool: { readonly key: string; readonly maxLaunchesPerMinute?: number },
  launchesLastMinute: number,
): Reason | undefined {
  const most = pool.maxLaunchesPerMinute;
  if (most === undefined || launchesLastMinute < most) return undefined;
  return reason(
    'launch-rate',
    `${pool.key} has had ${launchesLastMinute} launches in the last minute; the limit is ${most}`,
    { launches: launchesLastMinute, max: most },
    { subject: pool.key },
  );
}

/** Refuses a bin whose pool is gone, not ready, or has had its launches of the last minute. */
export function poolUnusable(
  pool: Pool | undefined,
  key: string,
  launchesLastMinute: number,
): Reason | undefined {
  if (pool === undefined || pool.deletionMs !== undefined)
    return reason('pool-deleting', `${key} is gone or being deleted`, {}, { subject: key });
  if (!pool.ready) return reason('pool-not-ready', `${key} is not ready`, {}, { subject: key });
  return launchRate(
    {
      key,
      ...(pool.maxLaunchesPerMinute === undefined
        ? {}
        : { maxLaunchesPerMinute: pool.maxLaunchesPerMinute }),
    },
    launchesLastMinute,
  );
}

/** Refuses a node of a pool of which nodes of several types never became usable. */
export const poolHeld = ({ pool, types, untilMs }: PoolHold): Reason => {
  const key = poolKey(pool);
  const until =
    untilMs === undefined
      ? 'until the node that is tried becomes usable or is given up'
      : `until ${new Date(untilMs).toISOString()}`;
  return reason(
    'pool-held',
    `no node of ${key} became usable, of several types; it gets no further one ${until}`,
    { pool: key, types: types.join(' '), untilMs: untilMs ?? '' },
    {
      subject: key,
      remedy:
        'compare user data, image, role and security groups of its node class; a change of the pool or its class lets it go again',
    },
  );
};

/** Refuses another node for a pod that did not come to run on those that were bought for it. */
export const noProgress = (pod: Pod, { claims, untilMs }: Churn): Reason =>
  reason(
    'no-progress',
    `${claims.length} nodes of this size were launched for pod ${pod.namespace}/${pod.name}, and it runs on none of them; the next is launched after ${new Date(untilMs).toISOString()}`,
    {
      podUid: pod.uid,
      pod: `${pod.namespace}/${pod.name}`,
      nodes: claims.length,
      claims: claims.slice(-3).join(' '),
      untilMs,
    },
    {
      remedy:
        'compare what the pod and the daemonsets request with what these nodes report as allocatable; a change of the pod, its pool, class or a daemonset lets it go again',
    },
  );
