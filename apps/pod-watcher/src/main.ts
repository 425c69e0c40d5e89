import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { connectService } from '@dovetail/adapter-nats';
import {
  type Assembled,
  commonSettings,
  durationMs,
  leaderSettings,
  runService,
  type SettingsOf,
  type Shell,
  systemHash,
  traceSettings,
} from '@dovetail/runtime';
import {
  createPodWatcher,
  defaultPodWatcherConfig,
  podWatcherMetrics,
} from '@dovetail/service-pod-watcher';

const settings = {
  ...commonSettings,
  ...leaderSettings,
  ...traceSettings,
  batchIdleMs: {
    env: 'BATCH_IDLE_DURATION',
    flag: 'batch-idle-duration',
    help: 'A batch leaves after no pod has come for this long.',
    fallback: defaultPodWatcherConfig.idleMs,
    parse: durationMs,
  },
  batchMaxMs: {
    env: 'BATCH_MAX_DURATION',
    flag: 'batch-max-duration',
    help: 'A batch never waits longer than this for pods that may or may not come.',
    fallback: defaultPodWatcherConfig.maxMs,
    parse: durationMs,
  },
  batchOwnerIdleMs: {
    env: 'BATCH_OWNER_IDLE_DURATION',
    flag: 'batch-owner-idle-duration',
    help: 'The same while a ReplicaSet of its pods has not made all its replicas yet.',
    fallback: defaultPodWatcherConfig.ownerIdleMs,
    parse: durationMs,
  },
  batchOwnerMaxMs: {
    env: 'BATCH_OWNER_MAX_DURATION',
    flag: 'batch-owner-max-duration',
    help: 'A batch never waits longer than this for those replicas.',
    fallback: defaultPodWatcherConfig.ownerMaxMs,
    parse: durationMs,
  },
} as const;

await runService(
  {
    name: 'pod-watcher',
    purpose: "publishes the cluster's state and batches pending pods",
    settings,
    metrics: podWatcherMetrics,
  },
  assemble,
);

function assemble(shell: Shell<typeof settings>): Assembled {
  const { log, metrics, clock, vitals } = shell;
  const { clusterName, kubeconfig, ...given } = shell.settings;
  const kube = shell.watched(
    connectKubernetes({
      log,
      pace: { perSecond: given.kubeQps, burst: given.kubeBurst },
      ...(kubeconfig === '' ? {} : { kubeconfigPath: kubeconfig }),
    }),
  );
  const bus = connectService('pod-watcher', shell.settings, { log, metrics });
  const sender = { cluster: clusterName, hash: systemHash, source: 'pod-watcher', clock };
  const channel = { bus, ...sender, ...shell.tracing };
  const leadership = shell.leadership(kube);
  const service = createPodWatcher(
    { kube, connection: kube, channel, leadership, log, metrics, vitals },
    { ...defaultPodWatcherConfig, ...batchPolicy(shell.settings) },
  );
  return { service, close: () => bus.close() };
}

function batchPolicy(given: SettingsOf<typeof settings>) {
  return {
    idleMs: given.batchIdleMs,
    maxMs: given.batchMaxMs,
    ownerIdleMs: given.batchOwnerIdleMs,
    ownerMaxMs: given.batchOwnerMaxMs,
  };
}
