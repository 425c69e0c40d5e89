import { equalJson } from '../model/json.js';
import {
  conditionOf,
  isTerminal,
  type Node,
  type Pod,
  type TaintSpec,
  timeText,
} from '../model/objects.js';
import { tolerates } from '../scheduler/matching.js';
import { keyOf } from '../store/table.js';
import { type Controller, type ControllerContext, podsType } from './context.js';
import { WorkQueue } from './work-queue.js';

const notReady = 'node.kubernetes.io/not-ready';
const unreachable = 'node.kubernetes.io/unreachable';
const cordonKey = 'node.kubernetes.io/unschedulable';
const managed = [notReady, unreachable, cordonKey];
const gonePodsAfterMs = 40_000;

function wantedTaints(node: Node): readonly TaintSpec[] {
  const ready = conditionOf(node.status?.conditions, 'Ready')?.status;
  const taints: TaintSpec[] = [];
  if (ready === 'Unknown')
    taints.push(
      { key: unreachable, effect: 'NoSchedule' },
      { key: unreachable, effect: 'NoExecute' },
    );
  else if (ready !== 'True')
    taints.push(
      { key: notReady, effect: 'NoSchedule' },
      ...(ready === 'False' ? [{ key: notReady, effect: 'NoExecute' }] : []),
    );
  if (node.spec?.unschedulable === true) taints.push({ key: cordonKey, effect: 'NoSchedule' });
  return taints;
}

const same = (left: TaintSpec, right: TaintSpec): boolean =>
  left.key === right.key && left.effect === right.effect;

/**
 * Taints nodes by their conditions, as the node lifecycle controller does. It watches no
 * heartbeats: the agents write when nodes are not ready.
 */
export function nodeLifecycleController(context: ControllerContext): Controller {
  const { store } = context;
  const queue = new WorkQueue({
    clock: store.clock,
    work: (name) => sync(context, name),
    onError: (name, error) => context.onError('node-lifecycle-controller', name, error),
  });
  for (const name of store.state.table('nodes').keys()) queue.add(name);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.table === 'nodes' && change.kind !== 'deleted')
        queue.add(change.object.metadata.name);
    },
  };
}

function sync(context: ControllerContext, name: string): void {
  const { store } = context;
  const node = store.state.table('nodes').get(name) as Node | undefined;
  if (node === undefined) return;
  const before = node.spec?.taints ?? [];
  const wanted = wantedTaints(node);
  const timeAdded = timeText(store.clock.nowMs());
  const kept = before.filter(
    (taint) => !managed.includes(taint.key) || wanted.some((one) => same(one, taint)),
  );
  const added = wanted
    .filter((taint) => !kept.some((one) => same(one, taint)))
    .map((taint) => ({ ...taint, timeAdded }));
  const taints = [...kept, ...added];
  if (equalJson(before, taints)) return;
  const { taints: _old, ...spec } = node.spec ?? {};
  store.update(store.type('', 'v1', 'nodes'), {
    name,
    object: { ...node, spec: taints.length === 0 ? spec : { ...spec, taints } },
  });
}

/** Ends pods on nodes with NoExecute taints when their tolerations end. */
export function taintEvictionController(context: ControllerContext): Controller {
  const { store } = context;
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work: (key) => judge(context, queue, key),
    onError: (key, error) => context.onError('taint-eviction-controller', key, error),
  });
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.kind === 'deleted') return;
      if (
        change.table === 'pods' &&
        ((change.object as Pod).spec.nodeName ?? '') !== '' &&
        ((change.before as Pod | undefined)?.spec.nodeName ?? '') === ''
      )
        queue.add(keyOf(change.object.metadata.namespace, change.object.metadata.name));
      if (
        change.table !== 'nodes' ||
        equalJson(
          (change.before as Node | undefined)?.spec?.taints,
          (change.object as Node).spec?.taints,
        )
      )
        return;
      for (const pod of context.podsByNode.get(change.object.metadata.name))
        queue.add(keyOf(pod.metadata.namespace, pod.metadata.name));
    },
  };
}

function judge(context: ControllerContext, queue: WorkQueue, key: string): void {
  const { store } = context;
  const pod = store.state.table('pods').get(key) as Pod | undefined;
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isTerminal(pod)) return;
  const node = store.state.table('nodes').get(pod.spec.nodeName ?? '') as Node | undefined;
  let endsAtMs = Infinity;
  for (const taint of (node?.spec?.taints ?? []).filter((one) => one.effect === 'NoExecute')) {
    const tolerations = (pod.spec.tolerations ?? []).filter((one) => tolerates(one, taint));
    const since = taint.timeAdded === undefined ? store.clock.nowMs() : Date.parse(taint.timeAdded);
    const seconds =
      tolerations.length === 0
        ? 0
        : Math.min(...tolerations.map((one) => one.tolerationSeconds ?? Infinity));
    endsAtMs = Math.min(endsAtMs, since + Math.max(0, seconds) * 1000);
  }
  if (endsAtMs === Infinity) return;
  const leftMs = endsAtMs - store.clock.nowMs();
  if (leftMs > 0) return queue.addAfter(key, leftMs);
  context.recorder.record(pod, {
    type: 'Normal',
    reason: 'TaintManagerEviction',
    message: `Marking for deletion Pod ${key}`,
    component: 'taint-eviction-controller',
  });
  store.delete(podsType(store), pod.metadata, { uid: pod.metadata.uid });
}

/** Deletes pods 40 seconds after their node object is gone, because no kubelet will. */
export function podCollector(context: ControllerContext): Controller {
  const { store } = context;
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work: (key) => collect(context, key),
    onError: (key, error) => context.onError('pod-garbage-collector', key, error),
  });
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.table !== 'nodes' || change.kind !== 'deleted') return;
      for (const pod of context.podsByNode.get(change.object.metadata.name))
        queue.addAfter(keyOf(pod.metadata.namespace, pod.metadata.name), gonePodsAfterMs);
    },
  };
}

function collect(context: ControllerContext, key: string): void {
  const { store } = context;
  const pod = store.state.table('pods').get(key) as Pod | undefined;
  if (pod === undefined || store.state.table('nodes').get(pod.spec.nodeName ?? '') !== undefined)
    return;
  store.delete(podsType(store), pod.metadata, { uid: pod.metadata.uid, gracePeriodSeconds: 0 });
}
