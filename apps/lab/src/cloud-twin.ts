import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import type { Log } from '@dovetail/core-ports';
import { createLog, offsetClock, stopOnSignals } from '@dovetail/runtime';
import {
  accountFor,
  accountPolicy,
  type CloudTwin,
  createCloud,
  serveCloud,
} from '@dovetail/sim-cloud';
import { createNodeAgent } from '@dovetail/sim-kube';
import { bootedInstance } from '@dovetail/sim-stage';
import { parse } from 'yaml';

import { BootSchedule } from './boot-schedule.js';
import { required } from './environment.js';

/**
 * One client stands for the kubelets of all machines. Each real one may send 50 requests a second,
 * 100 at once (`kubeAPIQPS` and `kubeAPIBurst` of its configuration), so 100 machines send this.
 */
const kubeletsPace = { perSecond: 5_000, burst: 10_000 };

/** Runs the cloud twin and the kubelets of the machines that it boots, as a process of its own. */
export async function runCloudTwin(): Promise<void> {
  const log = createLog({ service: 'cloud-twin', level: 'info' });
  const clock = offsetClock(required('TEST_CLOCK_FILE'));
  const kubeconfigPath = required('KUBECONFIG');
  const zones = process.env['ZONES'];
  const account = accountFor(required('AWS_REGION'), {
    clusterName: required('CLUSTER_NAME'),
    kubernetesVersion: required('KUBERNETES_VERSION'),
    ...clusterAccess(kubeconfigPath),
    ...(zones === undefined ? {} : { zones: zones.split(',') }),
  });
  const twin = createCloud({ clock, seed: process.env['SEED'] ?? 'lab', account });
  giveIdentities(twin, required('IAM_POLICIES'));
  const kube = connectKubernetes({ kubeconfigPath, log, pace: kubeletsPace });
  const agent = createNodeAgent({
    kube,
    clock,
    log,
    joinMs: Number(process.env['JOIN_MS'] ?? 300),
    readyMs: Number(process.env['READY_MS'] ?? 300),
  });
  const schedule = new BootSchedule(agent, clock, Number(process.env['JOIN_STAGGER_MS'] ?? 0));
  const stop = stopOnSignals().signal;
  twin.onBoot((machine) => {
    const instance = bootedInstance(machine, twin.types.get(machine.instanceType)?.facts);
    if (instance !== undefined) void schedule.boot(instance);
    else
      log.warn(
        'machine-does-not-join',
        `${machine.instanceId} boots but does not join: ${machine.boot.joins ? 'its type is unknown' : machine.boot.reason}`,
        { instanceId: machine.instanceId },
      );
  });
  twin.onTerminate((machine) => schedule.halt(machine.privateDnsName));
  const server = await serveTwin(twin, log);
  await agent.run(stop);
  await server.close();
  twin.close();
}

/** Serves the twin, and logs each call of a client that AWS would answer and the twin does not. */
const serveTwin = (twin: CloudTwin, log: Log) =>
  serveCloud(twin, {
    port: Number(required('PORT')),
    onNotServed: ({ action, reason }) =>
      log.warn('call-not-served', `${action}: ${reason}`, { action }),
  });

/**
 * The policies of each service, by its access key. `services` stands for all of them in one
 * process. pod-watcher and the solvers call nothing in AWS, so they may do nothing.
 */
const policiesOf: Readonly<Record<string, readonly string[]>> = {
  launcher: ['launcher'],
  reaper: ['reaper'],
  services: ['launcher', 'reaper'],
  'pod-watcher': [],
  solver: [],
};

/** Gives the services the rights of a folder of policies. Any other key may do everything. */
function giveIdentities(twin: CloudTwin, folder: string): void {
  for (const [service, names] of Object.entries(policiesOf))
    twin.identities.put(service, {
      role: `${twin.account.cluster.name}-${service}`,
      policies: names.map((name) =>
        accountPolicy(readFileSync(join(folder, `${name}.json`), 'utf8'), twin.account),
      ),
    });
}

type Kubeconfig = {
  clusters?: { cluster?: { server?: string; 'certificate-authority-data'?: string } }[];
};

/** The API server's address and authority, as EKS would report them. */
function clusterAccess(kubeconfigPath: string): {
  readonly endpoint?: string;
  readonly certificateAuthority?: string;
} {
  const cluster = (parse(readFileSync(kubeconfigPath, 'utf8')) as Kubeconfig).clusters?.[0]
    ?.cluster;
  const authority = cluster?.['certificate-authority-data'];
  return {
    ...(cluster?.server === undefined ? {} : { endpoint: cluster.server }),
    ...(authority === undefined ? {} : { certificateAuthority: authority }),
  };
}
