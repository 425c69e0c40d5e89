import { controllerOf, type Pod } from '../model/objects.js';
import { Scheduler } from '../scheduler/scheduler.js';
import { EventRecorder } from '../store/event-recorder.js';
import type { KubeStore } from '../store/store.js';
import { autoscalerController } from './autoscaler.js';
import type { Controller, ControllerContext } from './context.js';
import { cronJobController } from './cron-job.js';
import { daemonSetController } from './daemon-set.js';
import { deploymentController } from './deployment.js';
import { disruptionController } from './disruption.js';
import { garbageCollector, namespaceController } from './garbage.js';
import { jobController } from './job.js';
import {
  nodeLifecycleController,
  podCollector,
  taintEvictionController,
} from './node-lifecycle.js';
import { ObjectIndex } from './object-index.js';
import { eventExpiry, quotaController } from './quota-and-events.js';
import { replicaSetController } from './replica-set.js';
import { statefulSetController } from './stateful-set.js';
import { volumeController } from './volumes.js';

/** Every controller by name. */
const controllers = {
  deployment: deploymentController,
  replicaset: replicaSetController,
  statefulset: statefulSetController,
  daemonset: daemonSetController,
  job: jobController,
  cronjob: cronJobController,
  autoscaler: autoscalerController,
  disruption: disruptionController,
  garbage: garbageCollector,
  namespace: namespaceController,
  nodeLifecycle: nodeLifecycleController,
  taintEviction: taintEvictionController,
  podCollector,
  quota: quotaController,
  eventExpiry,
  volume: volumeController,
} as const;

type ControllerName = keyof typeof controllers;

/** The settings of the scheduler and the controllers. */
export type ControllerOptions = {
  /** Decides the scheduler's draws between equally good nodes. Default 1. */
  readonly seed?: number;
  /** Leave these out, `scheduler` among them. */
  readonly without?: readonly (ControllerName | 'scheduler')[];
  /** Receives failures that will be tried again. Refusals such as a full quota are ordinary. */
  readonly onError?: (controller: string, key: string, error: unknown) => void;
};

/** Running controllers. */
export type RunningControllers = { readonly stop: () => void };

/**
 * Starts the scheduler and the controllers of a control plane on a store. Changes and timers wake
 * them; nothing polls.
 */
export function startKubeControllers(
  store: KubeStore,
  options: ControllerOptions = {},
): RunningControllers {
  const without = new Set<string>(options.without ?? []);
  const recorder = new EventRecorder(store);
  const podsByOwner = new ObjectIndex(store, 'pods', (pod) => [controllerOf(pod)?.uid ?? '']);
  const podsByNode = new ObjectIndex(store, 'pods', (pod) =>
    (pod as Pod).spec.nodeName === undefined ? [] : [(pod as Pod).spec.nodeName as string],
  );
  const context: ControllerContext = {
    store,
    recorder,
    podsByOwner,
    podsByNode,
    onError: options.onError ?? (() => undefined),
  };
  const running: Controller[] = [];
  store.state.taintsNewNodes = !without.has('nodeLifecycle');
  for (const [name, start] of Object.entries(controllers))
    if (!without.has(name)) running.push(start(context));
  const scheduler = without.has('scheduler')
    ? undefined
    : new Scheduler({ store, recorder, seed: options.seed ?? 1 });
  const unsubscribe = store.subscribe((change) => {
    for (const controller of running) controller.heard(change);
  });
  return {
    stop: () => {
      unsubscribe();
      scheduler?.stop();
      for (const controller of running) controller.stop();
      podsByOwner.stop();
      podsByNode.stop();
    },
  };
}
