import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { connectNats, credentialsOf } from '@dovetail/adapter-nats';
import { commonSettings, durationMs, leaderSettings, openShell, runMain, systemHash } from '@dovetail/runtime';
import { defaultPodWatcherConfig, podWatcher, podWatcherMetrics } from '@dovetail/service-pod-watcher';

const settings = {
  ...commonSettings,
  ...leaderSettings,
  batchIdleMs: { env: 'BATCH_IDLE_DURATION', flag: 'batch-idle-duration', help: 'A batch leaves when no pod has come for so long.', fallback: defaultPodWatcherConfig.idleMs, parse: durationMs },
  batchMaxMs: { env: 'BATCH_MAX_DURATION', flag: 'batch-max-duration', help: 'A batch never waits longer than this for pods that may or may not come.', fallback: defaultPodWatcherConfig.maxMs, parse: durationMs },
  batchOwnerIdleMs: { env: 'BATCH_OWNER_IDLE_DURATION', flag: 'batch-owner-idle-duration', help: 'While a ReplicaSet of its pods has not made all its replicas yet, a batch leaves when no pod has come for so long.', fallback: defaultPodWatcherConfig.ownerIdleMs, parse: durationMs },
  batchOwnerMaxMs: { env: 'BATCH_OWNER_MAX_DURATION', flag: 'batch-owner-max-duration', help: 'It never waits longer than this for them.', fallback: defaultPodWatcherConfig.ownerMaxMs, parse: durationMs },
} as const;

await runMain(async () => {
  const shell = openShell({ name: 'pod-watcher', purpose: "tells the cluster's state and batches pending pods" }, settings, podWatcherMetrics);
  if (shell === undefined) return;
  const { log, metrics, clock, stop } = shell;
  const { clusterName, natsUrl, natsCredentials, replicaName, kubeconfig, batchIdleMs, batchMaxMs, batchOwnerIdleMs, batchOwnerMaxMs } = shell.settings;
  const kube = shell.watched(connectKubernetes({ log, ...(kubeconfig === '' ? {} : { kubeconfigPath: kubeconfig }) }));
  const bus = connectNats({ servers: natsUrl.split(','), name: `pod-watcher ${replicaName}`, log, metrics, ...credentialsOf(natsCredentials) });
  const leadership = shell.leadership(kube);
  const channel = { bus, cluster: clusterName, hash: systemHash, source: 'pod-watcher', clock };
  const watcher = podWatcher({ kube, channel, leadership, log, metrics }, { ...defaultPodWatcherConfig, idleMs: batchIdleMs, maxMs: batchMaxMs, ownerIdleMs: batchOwnerIdleMs, ownerMaxMs: batchOwnerMaxMs });
  // A replica that waits its turn is ready once Kubernetes has let it in: it has nothing to catch up with before it leads.
  await shell.serve({ ready: () => ({ bus: bus.connected(), kubernetes: kube.answered(), state: !leadership.held() || watcher.synced() }), debugState: watcher.debugState });
  try {
    await watcher.run(stop);
  } finally {
    await bus.close();
  }
});
