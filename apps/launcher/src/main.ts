import { createAwsCloud } from '@dovetail/adapter-aws/cloud';
import { userDataRenderer } from '@dovetail/adapter-aws/user-data';
import { connectKubernetes, trustedCa } from '@dovetail/adapter-kubernetes';
import { connectService } from '@dovetail/adapter-nats';
import { type Assembled, awsPlaceOf, runService, type Shell, systemHash } from '@dovetail/runtime';
import { EventRecorder, runBeside } from '@dovetail/service-kit';
import { createLauncher, launcherMetrics } from '@dovetail/service-launcher';

import { launcherConfigOf, launcherSettings } from './settings.js';

await runService(
  {
    name: 'launcher',
    purpose: 'admits plans and launches their nodes through EC2 Fleet',
    settings: launcherSettings,
    metrics: launcherMetrics,
  },
  assemble,
);

function assemble(shell: Shell<typeof launcherSettings>): Assembled {
  const { metrics, clock, vitals } = shell;
  const { kubeconfig, ...given } = shell.settings;
  const mayWrite = (): boolean => leadership.keepsOthersAway();
  const kube = shell.watched(
    connectKubernetes({
      log: shell.log,
      pace: { perSecond: given.kubeQps, burst: given.kubeBurst },
      bindingPace: { perSecond: given.bindingQps, burst: given.bindingQps },
      mayWrite,
      ...(kubeconfig === '' ? {} : { kubeconfigPath: kubeconfig }),
    }),
  );
  const recording = { kube, clock, log: shell.log, metrics, hash: systemHash };
  const events = new EventRecorder(recording, 'launcher');
  const log = shell.telling(kube, (event) => events.record(event));
  const bus = connectService('launcher', shell.settings, { log, metrics });
  const cloud = createAwsCloud({ ...awsPlaceOf(shell.settings), clock, log, mayWrite });
  const leadership = shell.leadership(kube);
  const around = { bus, clock, log, metrics, vitals, hash: systemHash, leadership };
  const outside = { kube, cloud, scraped: metrics, ...around, ...shell.tracing };
  const service = createLauncher(
    { ...outside, userData: userDataRenderer },
    launcherConfigOf(shell.settings, trustedCa(kubeconfig === '' ? undefined : kubeconfig)),
  );
  const close = (): Promise<void> => {
    cloud.close();
    return bus.close();
  };
  return { service: runBeside(service, (stop) => events.run(stop)), close };
}
