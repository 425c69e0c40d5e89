import type { Channel } from '@dovetail/contracts';
import type {
  BusConnection,
  KubeConnection,
  KubeDiscovery,
  KubeWatches,
  Leadership,
  Log,
  Metrics,
  StreamAdmin,
  Vitals,
} from '@dovetail/core-ports';

import type { BatchPolicy } from './batches.js';

/** The ports that pod-watcher works with. It writes nothing to Kubernetes. */
export type PodWatcherDeps = {
  readonly kube: KubeWatches & KubeDiscovery;
  /** A replica that waits to lead is ready once Kubernetes has answered it. */
  readonly connection: KubeConnection;
  readonly channel: Channel & { readonly bus: StreamAdmin & BusConnection };
  readonly leadership: Leadership;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Watches over the turns of the loops. */
  readonly vitals: Vitals;
};

/** The times that pod-watcher keeps, in milliseconds. */
export type PodWatcherConfig = BatchPolicy & {
  /** How often the stream is compared with what it should hold. */
  readonly reconcileMs: number;
  /** How long events are gathered before the pending pods are looked at. */
  readonly settleMs: number;
};

/**
 * `ownerIdleMs` and `ownerMaxMs` are the times that Karpenter waits for any pods; here only pods
 * that are certain to come are worth the wait. The patience trades a second plan for one group
 * against pods that wait for a solver that died.
 */
export const defaultPodWatcherConfig: PodWatcherConfig = {
  // A longer pause delays each plan. A shorter one cuts a deployment into several batches.
  idleMs: 40,
  // Bounds the delay when pods never stop coming: no pod waits longer than a second for others.
  maxMs: 1_000,
  ownerIdleMs: 1_000,
  ownerMaxMs: 10_000,
  patienceMs: 5_000,
  patiencePerPodMs: 10,
  patienceMaxMs: 60_000,
  // As in the launcher's feed: a lost stream fills again within this time.
  reconcileMs: 1_000,
  // A burst of events makes one look, for five milliseconds of delay.
  settleMs: 5,
};
