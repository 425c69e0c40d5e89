import { type Raw, recordOf } from '@dovetail/core-kube-model';
import { messageOf } from '@dovetail/core-ports';

import { equalJson, valueAt, withValueAt } from '../model/json.js';
import {
  type Condition,
  conditionOf,
  type LabelSelectorSpec,
  type Pod,
  type StoredObject,
  timeText,
} from '../model/objects.js';
import { type LabelTest, parseLabelSelector, selectorTest } from '../model/selectors.js';
import type { ResourceType, ScalePaths } from '../store/registry.js';
import { keyOf } from '../store/table.js';
import {
  type Behavior,
  limited,
  newHistory,
  remember,
  rememberScale,
  type ScaleHistory,
  stabilized,
} from './autoscaler-limits.js';
import { MetricError, type Proposal, proposalOf, type ScaleView } from './autoscaler-metrics.js';
import { type Controller, type ControllerContext, writeStatus } from './context.js';
import { WorkQueue } from './work-queue.js';

const table = 'horizontalpodautoscalers.autoscaling';
const component = 'horizontal-pod-autoscaler';
/** Kubernetes looks at each autoscaler so often. */
const intervalMs = 15_000;

type Autoscaler = StoredObject & {
  readonly spec: {
    readonly scaleTargetRef: {
      readonly apiVersion?: string;
      readonly kind: string;
      readonly name: string;
    };
    readonly minReplicas?: number;
    readonly maxReplicas: number;
    readonly metrics?: readonly Raw[];
    readonly behavior?: Behavior;
  };
  readonly status?: {
    readonly desiredReplicas?: number;
    readonly lastScaleTime?: string;
    readonly conditions?: readonly Condition[];
  };
};

type Setup = ControllerContext & {
  readonly queue: WorkQueue;
  readonly histories: Map<string, ScaleHistory>;
};

/** Scales workloads by the use of their pods, which annotations of the workload tell. */
export function autoscalerController(context: ControllerContext): Controller {
  const { store } = context;
  const histories = new Map<string, ScaleHistory>();
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work: (key) => sync({ ...context, queue, histories }, key),
    onError: (key, error) => context.onError(component, key, error),
  });
  for (const key of store.state.table(table).keys()) queue.wakeAfter(key, intervalMs);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.table !== table) return;
      const key = keyOf(change.object.metadata.namespace, change.object.metadata.name);
      if (change.kind === 'added') queue.wakeAfter(key, intervalMs);
      if (change.kind === 'deleted') {
        queue.forget(key);
        histories.delete(key);
      }
    },
  };
}

/** One look at one autoscaler: its status as it grows, and what it may use. */
type Look = {
  readonly setup: Setup;
  readonly hpa: Autoscaler;
  readonly key: string;
  readonly nowMs: number;
  conditions: readonly Condition[];
};

function sync(setup: Setup, key: string): void {
  const hpa = setup.store.state.table(table).get(key) as Autoscaler | undefined;
  if (hpa === undefined) return;
  setup.queue.wakeAfter(key, intervalMs);
  const nowMs = setup.store.clock.nowMs();
  const conditions = hpa.status?.conditions ?? [];
  reconcile({ setup, hpa, key, nowMs, conditions });
}

function say(look: Look, type: 'Normal' | 'Warning', reason: string, message: string): void {
  look.setup.recorder.record(look.hpa, { type, reason, message, component });
}

function setCondition(
  look: Look,
  type: string,
  status: 'True' | 'False',
  [reason, message]: readonly [reason: string, message: string],
): void {
  const before = conditionOf(look.conditions, type);
  const lastTransitionTime =
    before?.status === status ? before.lastTransitionTime : timeText(look.nowMs);
  const condition = {
    type,
    status,
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
    reason,
    message,
  };
  look.conditions =
    before === undefined
      ? [...look.conditions, condition]
      : look.conditions.map((one) => (one === before ? condition : one));
}

type Counts = {
  readonly current?: number | undefined;
  readonly desired?: number | undefined;
  readonly metrics?: readonly Raw[] | undefined;
  readonly scaled?: boolean;
};

function writeLook(look: Look, counts: Counts): void {
  const { hpa, setup, key } = look;
  const { currentMetrics: _metrics, ...before } = recordOf(hpa.status);
  const status = {
    ...before,
    ...(counts.current === undefined ? {} : { currentReplicas: counts.current }),
    ...(counts.desired === undefined ? {} : { desiredReplicas: counts.desired }),
    ...(counts.metrics === undefined ? {} : { currentMetrics: counts.metrics }),
    ...(counts.scaled === true ? { lastScaleTime: timeText(look.nowMs) } : {}),
    conditions: look.conditions,
  };
  const current = setup.store.state.table(table).get(key);
  if (current === undefined || equalJson(status, current['status'])) return;
  const type = setup.store.type('autoscaling', 'v2', 'horizontalpodautoscalers');
  writeStatus(setup.store, type, current, status);
}

type Target = {
  readonly type: ResourceType;
  readonly paths: ScalePaths;
  readonly scale: ScaleView;
};

const pathOf = (path: string): readonly string[] => path.replace(/^\./, '').split('.');

function selectorOf(object: StoredObject, paths: ScalePaths): LabelTest | undefined {
  const text =
    paths.labelSelectorPath === undefined
      ? undefined
      : valueAt(object, pathOf(paths.labelSelectorPath));
  if (typeof text === 'string' && text !== '') return parseLabelSelector(text);
  const own = recordOf(object['spec'])['selector'];
  return own === undefined ? undefined : selectorTest(own as LabelSelectorSpec);
}

/** The object to scale. Throws an Error in the words of the API server. */
function targetOf({ setup, hpa }: Look): Target {
  const { store } = setup;
  const { apiVersion = '', kind, name } = hpa.spec.scaleTargetRef;
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
  const type = store.registry.all().find((one) => one.group === group && one.kind === kind);
  if (type === undefined) throw new Error(`no matches for kind "${kind}" in group "${group}"`);
  if (type.scale === undefined) throw new Error('the server could not find the requested resource');
  const { namespace } = hpa.metadata;
  const object = store.get(type, { namespace, name });
  const matches = selectorOf(object, type.scale);
  const pods =
    matches === undefined
      ? []
      : ([...store.state.table('pods').values()] as Pod[]).filter(
          (pod) => pod.metadata.namespace === namespace && matches(pod.metadata.labels),
        );
  const replicas = Number(valueAt(object, pathOf(type.scale.specReplicasPath)) ?? 0);
  return { type, paths: type.scale, scale: { object, replicas, pods } };
}

function reconcile(look: Look): void {
  const { hpa, setup, key, nowMs } = look;
  let target: Target;
  try {
    target = targetOf(look);
  } catch (thrown) {
    const why = messageOf(thrown);
    say(look, 'Warning', 'FailedGetScale', why);
    setCondition(look, 'AbleToScale', 'False', [
      'FailedGetScale',
      `the HPA controller was unable to get the target's current scale: ${why}`,
    ]);
    return writeLook(look, {});
  }
  setCondition(look, 'AbleToScale', 'True', [
    'SucceededGetScale',
    "the HPA controller was able to get the target's current scale",
  ]);
  const { replicas } = target.scale;
  if (!setup.histories.has(key)) setup.histories.set(key, newHistory(replicas, nowMs));
  const min = hpa.spec.minReplicas ?? 1;
  if (replicas === 0) {
    setCondition(look, 'ScalingActive', 'False', [
      'ScalingDisabled',
      'scaling is disabled since the replica count of the target is zero',
    ]);
    return writeLook(look, { current: 0, desired: 0 });
  }
  const bounds = 'Current number of replicas';
  if (replicas > hpa.spec.maxReplicas)
    return rescale(look, target, hpa.spec.maxReplicas, {
      reason: `${bounds} above Spec.MaxReplicas`,
    });
  if (replicas < min)
    return rescale(look, target, min, { reason: `${bounds} below Spec.MinReplicas` });
  byMetrics(look, target);
}

/** The highest proposal, the entries of currentMetrics, and the first metric that gave none. */
type Computed = {
  readonly best: Proposal | undefined;
  readonly statuses: readonly Raw[];
  readonly first: MetricError | undefined;
  readonly failed: number;
};

function compute(look: Look, scale: ScaleView): Computed {
  let best: Proposal | undefined;
  let first: MetricError | undefined;
  let failed = 0;
  const statuses = (look.hpa.spec.metrics ?? []).map((metric): Raw => {
    try {
      const proposal = proposalOf(scale, metric);
      if (best === undefined || proposal.replicas > best.replicas) best = proposal;
      return proposal.status;
    } catch (thrown) {
      if (!(thrown instanceof MetricError)) throw thrown;
      say(look, 'Warning', thrown.reason, thrown.message);
      first ??= thrown;
      failed += 1;
      return { type: '' };
    }
  });
  return { best, statuses, first, failed };
}

function byMetrics(look: Look, target: Target): void {
  const { scale } = target;
  const { best, statuses, first, failed } = compute(look, scale);
  // With one metric missing the workload may grow by the others, and may not shrink.
  if (best === undefined || (first !== undefined && best.replicas < scale.replicas)) {
    const why = first?.message ?? '';
    setCondition(look, 'ScalingActive', 'False', [
      first?.reason ?? '',
      `the HPA was unable to compute the replica count: ${why}`,
    ]);
    writeLook(look, { current: scale.replicas, metrics: statuses });
    return say(
      look,
      'Warning',
      'FailedComputeMetricsReplicas',
      `invalid metrics (${failed} invalid out of ${statuses.length}), first error is: ${first?.whole ?? ''}`,
    );
  }
  setCondition(look, 'ScalingActive', 'True', [
    'ValidMetricFound',
    `the HPA was able to successfully calculate a replica count from ${best.name}`,
  ]);
  const desired = withinLimits(look, scale.replicas, best.replicas);
  if (desired === scale.replicas)
    return writeLook(look, { current: desired, desired, metrics: statuses });
  const reason =
    best.replicas > scale.replicas ? `${best.name} above target` : 'All metrics below target';
  rescale(look, target, desired, { reason, metrics: statuses });
}

function withinLimits(look: Look, current: number, wanted: number): number {
  const { hpa, nowMs } = look;
  const { behavior, maxReplicas: max, minReplicas: min = 1 } = hpa.spec;
  const history = look.setup.histories.get(look.key) ?? newHistory(current, nowMs);
  const aim = { nowMs, current, desired: wanted, min, max };
  const steady = stabilized(history, aim, behavior);
  remember(history, aim);
  setCondition(look, 'AbleToScale', 'True', [steady.reason, steady.message]);
  const bound = limited(history, { ...aim, desired: steady.replicas }, behavior);
  setCondition(look, 'ScalingLimited', bound.replicas === steady.replicas ? 'False' : 'True', [
    bound.reason,
    bound.message,
  ]);
  return bound.replicas;
}

function rescale(
  look: Look,
  { type, paths, scale }: Target,
  replicas: number,
  { reason, metrics }: { readonly reason: string; readonly metrics?: readonly Raw[] },
): void {
  const { setup, nowMs, key } = look;
  const { object, replicas: current } = scale;
  try {
    const after = withValueAt(object, pathOf(paths.specReplicasPath), replicas);
    setup.store.update(type, { ...object.metadata, object: after });
  } catch (thrown) {
    const why = messageOf(thrown);
    say(
      look,
      'Warning',
      'FailedRescale',
      `New size: ${replicas}; reason: ${reason}; error: ${why}`,
    );
    setCondition(look, 'AbleToScale', 'False', [
      'FailedUpdateScale',
      `the HPA controller was unable to update the target scale: ${why}`,
    ]);
    return writeLook(look, { current, metrics });
  }
  setCondition(look, 'AbleToScale', 'True', [
    'SucceededRescale',
    `the HPA controller was able to update the target scale to ${replicas}`,
  ]);
  say(look, 'Normal', 'SuccessfulRescale', `New size: ${replicas}; reason: ${reason}`);
  const history = setup.histories.get(key);
  if (history !== undefined) rememberScale(history, { before: current, after: replicas, nowMs });
  writeLook(look, { current, desired: replicas, metrics, scaled: true });
}
