import { createAwsCloud } from '@dovetail/adapter-aws/cloud';
import { userDataRenderer } from '@dovetail/adapter-aws/user-data';
import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { connectNats, credentialsOf } from '@dovetail/adapter-nats';
import {
  type Assembled,
  awsSettings,
  commonSettings,
  leaderSettings,
  oneOf,
  runService,
  type SettingsOf,
  type Shell,
  systemHash,
  text,
} from '@dovetail/runtime';
import { EventRecorder, runBeside } from '@dovetail/service-kit';
import { createLauncher, defaultLauncherConfig, launcherMetrics } from '@dovetail/service-launcher';

const settings = {
  ...commonSettings,
  ...leaderSettings,
  ...awsSettings,
  placement: {
    env: 'PLACEMENT',
    flag: 'placement',
    help: 'bind: the launcher binds pods to the node planned for them; scheduler: kube-scheduler chooses, and the launcher needs no right to bind.',
    fallback: 'bind' as const,
    parse: oneOf('bind', 'scheduler'),
  },
  defaultInstanceProfile: {
    env: 'DEFAULT_INSTANCE_PROFILE',
    flag: 'default-instance-profile',
    help: 'Instance profile for classes that name neither role nor profile (legacy AWSNodeTemplates and inline providers).',
    fallback: '',
    parse: text,
  },
} as const;

await runService(
  {
    name: 'launcher',
    purpose: 'admits plans and launches their nodes through EC2 Fleet',
    settings,
    metrics: launcherMetrics,
  },
  assemble,
);

function assemble(shell: Shell<typeof settings>): Assembled {
  const { metrics, clock, vitals } = shell;
  const { clusterName, natsUrl, replicaName, kubeconfig, region, ...given } = shell.settings;
  const kube = shell.watched(
    connectKubernetes({
      log: shell.log,
      pace: { perSecond: given.kubeQps, burst: given.kubeBurst },
      ...(kubeconfig === '' ? {} : { kubeconfigPath: kubeconfig }),
    }),
  );
  const recording = { kube, clock, log: shell.log, metrics, hash: systemHash };
  const events = new EventRecorder(recording, 'launcher');
  const log = shell.telling(kube, (event) => events.record(event));
  const bus = connectNats({
    servers: natsUrl.split(','),
    replicas: shell.settings.natsReplicas,
    name: `launcher ${replicaName}`,
    log,
    metrics,
    ...credentialsOf(given.natsCredentials),
  });
  const endpoint = given.endpoint === '' ? {} : { endpoint: given.endpoint };
  const cloud = createAwsCloud({ region, ...endpoint, clock, log });
  const leadership = shell.leadership(kube);
  const around = { bus, clock, log, metrics, vitals, hash: systemHash, leadership };
  const outside = { kube, cloud, ...around };
  const service = createLauncher(
    { ...outside, userData: userDataRenderer },
    { ...defaultLauncherConfig({ clusterName, region }), ...ownConfig(given) },
  );
  const close = (): Promise<void> => {
    cloud.close();
    return bus.close();
  };
  return { service: runBeside(service, (stop) => events.run(stop)), close };
}

/** The settings of the launcher alone. */
function ownConfig({
  placement,
  defaultInstanceProfile,
}: Pick<SettingsOf<typeof settings>, 'placement' | 'defaultInstanceProfile'>) {
  return { placement, ...(defaultInstanceProfile === '' ? {} : { defaultInstanceProfile }) };
}
