import { createHash } from 'node:crypto';

import { recordOf } from '@dovetail/core-kube-model';

import {
  controllerOf,
  isTerminal,
  type Node,
  type Pod,
  type PodSpecView,
  type TolerationSpec,
  type Workload,
} from '../model/objects.js';
import { nodeAffinityAllows, untolerated } from '../scheduler/matching.js';
import { keyOf } from '../store/table.js';
import {
  type Controller,
  type ControllerContext,
  createPod,
  deletePod,
  writeStatus,
} from './context.js';
import { countOf, isAvailable } from './pod-groups.js';
import { WorkQueue } from './work-queue.js';

const table = 'daemonsets.apps';
const component = 'daemonset-controller';
const hashLabel = 'controller-revision-hash';

// Kubernetes adds these to every daemon pod: it runs where other pods must not.
const daemonTolerations: readonly TolerationSpec[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];

const hashOf = (set: Workload): string =>
  createHash('sha256').update(JSON.stringify(set.spec.template)).digest('hex').slice(0, 10);

function tolerationsOf(spec: PodSpecView): readonly TolerationSpec[] {
  const network: readonly TolerationSpec[] =
    spec.hostNetwork === true
      ? [
          {
            key: 'node.kubernetes.io/network-unavailable',
            operator: 'Exists',
            effect: 'NoSchedule',
          },
        ]
      : [];
  return [...(spec.tolerations ?? []), ...daemonTolerations, ...network];
}

/** A DaemonSet's pods name their node by affinity; the scheduler still binds them. */
function pinned(spec: PodSpecView, nodeName: string): object {
  const pin = { matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] };
  const nodeAffinity = spec.affinity?.nodeAffinity;
  const terms = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const nodeSelectorTerms =
    terms === undefined || terms.length === 0 ? [pin] : terms.map((term) => ({ ...term, ...pin }));
  return {
    affinity: {
      ...spec.affinity,
      nodeAffinity: {
        ...nodeAffinity,
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
      },
    },
    tolerations: tolerationsOf(spec),
  };
}

/** Keeps one pod of each DaemonSet on every node that its template allows. */
export function daemonSetController(context: ControllerContext): Controller {
  const { store } = context;
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work: (key) => sync(context, queue, key),
    onError: (key, error) => context.onError(component, key, error),
  });
  const all = (): void => {
    for (const key of store.state.table(table).keys()) queue.add(key);
  };
  all();
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      const { namespace, name } = change.object.metadata;
      if (change.table === table) queue.add(keyOf(namespace, name));
      if (change.table === 'nodes') all();
      const owner = change.table === 'pods' ? controllerOf(change.object) : undefined;
      if (owner?.kind === 'DaemonSet') queue.add(keyOf(namespace, owner.name));
    },
  };
}

/** The node of a daemon pod: the one it runs on, else the one that its affinity names. */
function targetOf(pod: Pod): string {
  if ((pod.spec.nodeName ?? '') !== '') return pod.spec.nodeName as string;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms ?? [];
  return (
    terms.flatMap((term) => term.matchFields ?? []).find((field) => field.key === 'metadata.name')
      ?.values?.[0] ?? ''
  );
}

/** `run`: a new daemon pod belongs on the node. `stay`: one that is there may stay. */
function wants(set: Workload, node: Node): { readonly run: boolean; readonly stay: boolean } {
  const { spec } = set.spec.template;
  const labels = node.metadata.labels ?? {};
  if (!nodeAffinityAllows({ spec }, { name: node.metadata.name, labels }))
    return { run: false, stay: false };
  const taints = node.spec?.taints ?? [];
  const tolerations = tolerationsOf(spec);
  return {
    run: untolerated(tolerations, taints, ['NoSchedule', 'NoExecute']) === undefined,
    stay: untolerated(tolerations, taints, ['NoExecute']) === undefined,
  };
}

type Counts = {
  desired: number;
  current: number;
  misscheduled: number;
  ready: number;
  available: number;
  updated: number;
};

function sync(context: ControllerContext, queue: WorkQueue, key: string): void {
  const { store } = context;
  const set = store.state.table(table).get(key) as Workload | undefined;
  if (set === undefined || set.metadata.deletionTimestamp !== undefined) return;
  const byNode = new Map<string, Pod[]>();
  for (const pod of context.podsByOwner.get(set.metadata.uid) as readonly Pod[])
    byNode.set(targetOf(pod), [...(byNode.get(targetOf(pod)) ?? []), pod]);
  const counts: Counts = {
    desired: 0,
    current: 0,
    misscheduled: 0,
    ready: 0,
    available: 0,
    updated: 0,
  };
  const hash = hashOf(set);
  const outdated: Pod[] = [];
  for (const name of store.state.table('nodes').keys()) {
    const node = store.state.table('nodes').get(name) as Node;
    const pods = byNode.get(name) ?? [];
    syncNode(context, set, { node, pods, hash, counts, outdated });
  }
  replaceOutdated(context, set, outdated, counts);
  report(context, set, counts, hash);
}

type OnNode = {
  readonly node: Node;
  readonly pods: readonly Pod[];
  readonly hash: string;
  readonly counts: Counts;
  readonly outdated: Pod[];
};

function syncNode(context: ControllerContext, set: Workload, onNode: OnNode): void {
  const { node, pods, counts } = onNode;
  const { run, stay } = wants(set, node);
  const alive = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  for (const pod of alive.filter(isTerminal)) deletePod(context, set, pod, component);
  const running = alive.filter((pod) => !isTerminal(pod));
  if (!stay) {
    for (const pod of running) deletePod(context, set, pod, component);
    return;
  }
  if (!run) {
    counts.misscheduled += running.length > 0 ? 1 : 0;
    return;
  }
  counts.desired += 1;
  const [kept, ...extra] = running;
  for (const pod of extra) deletePod(context, set, pod, component);
  if (kept !== undefined) countKept(context, set, kept, onNode);
  else if (alive.length === pods.length) createOn(context, set, onNode);
}

function createOn(context: ControllerContext, set: Workload, { node, hash, counts }: OnNode): void {
  createPod(context, set, set.spec.template, {
    labels: { [hashLabel]: hash, 'pod-template-generation': String(set.metadata.generation ?? 1) },
    spec: pinned(set.spec.template.spec, node.metadata.name),
    component,
  });
  counts.current += 1;
  counts.updated += 1;
}

function countKept(
  context: ControllerContext,
  set: Workload,
  kept: Pod,
  { hash, counts, outdated }: OnNode,
): void {
  const nowMs = context.store.clock.nowMs();
  counts.current += 1;
  if (isAvailable(kept, 0, nowMs)) counts.ready += 1;
  if (isAvailable(kept, set.spec.minReadySeconds ?? 0, nowMs)) counts.available += 1;
  if (kept.metadata.labels?.[hashLabel] === hash) counts.updated += 1;
  else outdated.push(kept);
}

function replaceOutdated(
  context: ControllerContext,
  set: Workload,
  outdated: readonly Pod[],
  counts: Counts,
): void {
  const strategy = recordOf(set.spec['updateStrategy']);
  if (strategy['type'] === 'OnDelete' || outdated.length === 0) return;
  const allowed = Math.max(
    1,
    countOf(recordOf(strategy['rollingUpdate'])['maxUnavailable'], counts.desired, 'up'),
  );
  const free = Math.max(0, allowed - (counts.desired - counts.available));
  for (const pod of outdated.slice(0, free)) deletePod(context, set, pod, component);
}

function report(context: ControllerContext, set: Workload, counts: Counts, hash: string): void {
  const { store } = context;
  const current = store.state.table(table).get(keyOf(set.metadata.namespace, set.metadata.name)) as
    Workload | undefined;
  if (current === undefined || hash !== hashOf(current)) return;
  const optional = {
    updatedNumberScheduled: counts.updated,
    numberAvailable: counts.available,
    numberUnavailable: counts.desired - counts.available,
  };
  writeStatus(store, store.type('apps', 'v1', 'daemonsets'), current, {
    currentNumberScheduled: counts.current,
    numberMisscheduled: counts.misscheduled,
    desiredNumberScheduled: counts.desired,
    numberReady: counts.ready,
    observedGeneration: current.metadata.generation,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value > 0)),
  });
}
