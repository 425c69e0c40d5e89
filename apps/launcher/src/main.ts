import { createAwsCloud, userDataRenderer } from '@dovetail/adapter-aws';
import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { connectNats, credentialsOf } from '@dovetail/adapter-nats';
import { awsSettings, commonSettings, leaderSettings, oneOf, openShell, runMain, systemHash, text } from '@dovetail/runtime';
import { createLauncher, defaultLauncherConfig, launcherMetrics } from '@dovetail/service-launcher';

const settings = {
  ...commonSettings,
  ...leaderSettings,
  ...awsSettings,
  placement: { env: 'PLACEMENT', flag: 'placement', help: 'bind: pods of a plan are bound to the node made for them; scheduler: kube-scheduler chooses, and the right to bind is not needed.', fallback: 'bind' as const, parse: oneOf('bind', 'scheduler') },
  defaultInstanceProfile: { env: 'DEFAULT_INSTANCE_PROFILE', flag: 'default-instance-profile', help: 'Instance profile for classes that name neither role nor profile (legacy AWSNodeTemplates and inline providers).', fallback: '', parse: text },
} as const;

await runMain(async () => {
  const shell = openShell({ name: 'launcher', purpose: 'admits plans and launches what they ask for through EC2 Fleet' }, settings, launcherMetrics);
  if (shell === undefined) return;
  const { metrics, clock, stop } = shell;
  const { clusterName, natsUrl, natsCredentials, replicaName, kubeconfig, region, endpoint, placement, defaultInstanceProfile } = shell.settings;
  const kube = shell.watched(connectKubernetes({ log: shell.log, ...(kubeconfig === '' ? {} : { kubeconfigPath: kubeconfig }) }));
  const log = shell.telling(kube);
  const bus = connectNats({ servers: natsUrl.split(','), name: `launcher ${replicaName}`, log, metrics, ...credentialsOf(natsCredentials) });
  const aws = { region, ...(endpoint === '' ? {} : { endpoint }) };
  const cloud = createAwsCloud({ ...aws, clock, log });
  const launcher = createLauncher(
    { kube, cloud, bus, clock, log, metrics, hash: systemHash, leadership: shell.leadership(kube), userData: userDataRenderer },
    { ...defaultLauncherConfig({ clusterName, region }), placement, ...(defaultInstanceProfile === '' ? {} : { defaultInstanceProfile }) },
  );
  await shell.serve({ ready: () => Object.fromEntries(launcher.notReady().map((reason) => [reason, false])), debugState: () => launcher.debugState() });
  try {
    await launcher.run(stop);
  } finally {
    cloud.close();
    await bus.close();
  }
});
