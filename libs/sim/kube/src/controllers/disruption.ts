import { recordOf } from '../json.js';
import { controllerOf, isReady, isTerminal, timeText, type Pod, type PodDisruptionBudget, type Stored } from '../model.js';
import { selectorTest } from '../selectors.js';
import { withCondition } from '../store/pod-actions.js';
import { keyOf } from '../store/table.js';
import type { KubeStore } from '../store/store.js';
import { writeStatus, type Controller, type ControllerContext } from './context.js';
import { countOf } from './pod-groups.js';
import { WorkQueue } from './work-queue.js';

const table = 'poddisruptionbudgets.policy';
const component = 'controllermanager';
// A pod that was evicted but is still there after this long does not count as disrupted any more.
const disruptedForMs = 120_000;

/** Works out how many pods each PodDisruptionBudget lets go now. */
export function disruptionController(context: ControllerContext): Controller {
  const { store } = context;
  const queue: WorkQueue = new WorkQueue({ clock: store.clock, work: (key) => sync(context, queue, key), onError: (key, error) => context.onError('disruption-controller', key, error) });
  for (const key of store.state.table(table).keys()) queue.add(key);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.table === table) queue.add(keyOf(change.object.metadata.namespace, change.object.metadata.name));
      else if (change.table === 'pods' || change.table.endsWith('.apps')) {
        for (const budget of store.state.table(table).values()) if (budget.metadata.namespace === change.object.metadata.namespace) queue.add(keyOf(budget.metadata.namespace, budget.metadata.name));
      }
    },
  };
}

const plurals: Readonly<Record<string, string>> = { ReplicaSet: 'replicasets.apps', StatefulSet: 'statefulsets.apps', Deployment: 'deployments.apps' };

/** The replicas that the pods' workloads want: what a percentage, or maxUnavailable, is of. */
function expectedReplicas(store: KubeStore, pods: readonly Pod[]): number {
  const scales = new Map<string, number>();
  for (const pod of pods) {
    let owner: Stored | undefined = pod;
    let last: Stored | undefined;
    for (let controller = controllerOf(pod); controller !== undefined && plurals[controller.kind] !== undefined; controller = owner === undefined ? undefined : controllerOf(owner)) {
      owner = store.state.table(plurals[controller.kind] as string).get(keyOf(pod.metadata.namespace, controller.name));
      last = owner ?? last;
    }
    if (last !== undefined) scales.set(last.metadata.uid, Number(recordOf(last['spec'])['replicas'] ?? 1));
  }
  return [...scales.values()].reduce((sum, replicas) => sum + replicas, 0);
}

function sync(context: ControllerContext, queue: WorkQueue, key: string): void {
  const { store } = context;
  const budget = store.state.table(table).get(key) as PodDisruptionBudget | undefined;
  if (budget === undefined) return;
  const matches = selectorTest(budget.spec.selector);
  const pods = ([...store.state.table('pods').values()] as Pod[]).filter((pod) => pod.metadata.namespace === budget.metadata.namespace && !isTerminal(pod) && matches(pod.metadata.labels));
  const now = store.clock.nowMs();
  const disrupted = Object.entries(budget.status?.disruptedPods ?? {}).filter(([name, since]) => pods.some((pod) => pod.metadata.name === name && pod.metadata.deletionTimestamp === undefined) && Date.parse(since) + disruptedForMs > now);
  if (disrupted.length > 0) queue.addAfter(key, disruptedForMs);
  const healthy = pods.filter((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined && !disrupted.some(([name]) => name === pod.metadata.name)).length;
  const { minAvailable, maxUnavailable } = budget.spec;
  const percentage = typeof minAvailable === 'string' || maxUnavailable !== undefined;
  const expected = percentage ? expectedReplicas(store, pods) : pods.length;
  const desired = maxUnavailable === undefined ? countOf(minAvailable ?? 1, expected, 'up') : Math.max(0, expected - countOf(maxUnavailable, expected, 'up'));
  const allowed = expected <= 0 ? 0 : Math.max(0, healthy - desired);
  const condition = { type: 'DisruptionAllowed', status: allowed > 0 ? 'True' : 'False', reason: allowed > 0 ? 'SufficientPods' : 'InsufficientPods', message: '', observedGeneration: budget.metadata.generation ?? 1, lastTransitionTime: timeText(now) };
  writeStatus(store, store.type('policy', 'v1', 'poddisruptionbudgets'), budget, {
    observedGeneration: budget.metadata.generation,
    ...(disrupted.length === 0 ? {} : { disruptedPods: Object.fromEntries(disrupted) }),
    disruptionsAllowed: allowed,
    currentHealthy: healthy,
    desiredHealthy: desired,
    expectedPods: expected,
    conditions: withCondition(budget.status?.conditions, condition),
  });
}

/** For Events of this controller. */
export const disruptionComponent = component;
