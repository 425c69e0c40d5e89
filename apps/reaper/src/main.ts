import { createAwsCloud, createInterruptionQueue } from '@dovetail/adapter-aws';
import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { connectNats, credentialsOf } from '@dovetail/adapter-nats';
import { awsSettings, commonSettings, leaderSettings, openShell, runMain, systemHash, text } from '@dovetail/runtime';
import { createReaper, defaultReaperConfig, reaperMetrics } from '@dovetail/service-reaper';

const settings = {
  ...commonSettings,
  ...leaderSettings,
  ...awsSettings,
  interruptionQueue: { env: 'INTERRUPTION_QUEUE', flag: 'interruption-queue', help: 'Name of the SQS queue with interruption notices; none: no notices are read.', fallback: '', parse: text },
} as const;

await runMain(async () => {
  const shell = openShell({ name: 'reaper', purpose: 'retires nodes that are empty, expired or about to be interrupted' }, settings, reaperMetrics);
  if (shell === undefined) return;
  const { metrics, clock, stop } = shell;
  const { clusterName, natsUrl, natsCredentials, replicaName, kubeconfig, region, endpoint, interruptionQueue } = shell.settings;
  const kube = shell.watched(connectKubernetes({ log: shell.log, ...(kubeconfig === '' ? {} : { kubeconfigPath: kubeconfig }) }));
  const log = shell.telling(kube);
  const bus = connectNats({ servers: natsUrl.split(','), name: `reaper ${replicaName}`, log, metrics, ...credentialsOf(natsCredentials) });
  const aws = { region, ...(endpoint === '' ? {} : { endpoint }) };
  const cloud = createAwsCloud({ ...aws, clock, log });
  const queue = interruptionQueue === '' ? undefined : createInterruptionQueue({ ...aws, clock, log, queueName: interruptionQueue });
  const reaper = createReaper(
    { kube, cloud, bus, clock, log, metrics, hash: systemHash, leadership: shell.leadership(kube), ...(queue === undefined ? {} : { queue }) },
    { clusterName, ...defaultReaperConfig },
  );
  await shell.serve({ ready: () => reaper.ready(), debugState: () => reaper.debugState() });
  try {
    await reaper.run(stop);
  } finally {
    queue?.close();
    cloud.close();
    await bus.close();
  }
});
