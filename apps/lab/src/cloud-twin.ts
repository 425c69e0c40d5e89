import { readFileSync } from 'node:fs';
import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { createLog, offsetClock, stopOnSignals } from '@dovetail/runtime';
import { createCloud, serveCloud, worldFor } from '@dovetail/sim-cloud';
import { createNodeAgent } from '@dovetail/sim-kube';
import { parse } from 'yaml';
import { required } from './environment.js';
import { Joining } from './joining.js';
import { bootedInstance } from './machine-node.js';

/** Runs the cloud twin and the kubelets of the machines that it boots, as a process of its own. */
export async function runCloudTwin(): Promise<void> {
  const log = createLog({ service: 'cloud-twin', level: 'info' });
  const clock = offsetClock(required('TEST_CLOCK_FILE'));
  const kubeconfigPath = required('KUBECONFIG');
  const zones = process.env['ZONES'];
  const world = worldFor(required('AWS_REGION'), {
    clusterName: required('CLUSTER_NAME'), kubernetesVersion: required('KUBERNETES_VERSION'), ...clusterAccess(kubeconfigPath), ...(zones === undefined ? {} : { zones: zones.split(',') }),
  });
  const twin = createCloud({ clock, seed: process.env['SEED'] ?? 'lab', world });
  const kube = connectKubernetes({ kubeconfigPath, log });
  const agent = createNodeAgent({ kube, clock, log, joinMs: Number(process.env['JOIN_MS'] ?? 300), readyMs: Number(process.env['READY_MS'] ?? 300) });
  const joining = new Joining(agent, clock, Number(process.env['JOIN_STAGGER_MS'] ?? 0));
  const stop = stopOnSignals();
  twin.onBoot((machine) => {
    const instance = bootedInstance(machine, twin.types.get(machine.instanceType)?.facts);
    if (instance !== undefined) void joining.boot(instance);
    else log.warn('machine-does-not-join', `${machine.instanceId} boots, but does not join: ${machine.boot.joins ? 'its type is unknown' : machine.boot.reason}`, { instanceId: machine.instanceId });
  });
  twin.onTerminate((machine) => joining.halt(machine.privateDnsName));
  const server = await serveCloud(twin, { port: Number(required('PORT')) });
  await agent.run(stop);
  await server.close();
  twin.close();
}

type Kubeconfig = { clusters?: { cluster?: { server?: string; 'certificate-authority-data'?: string } }[] };

/** Where nodes find the API server, as EKS would say it. */
function clusterAccess(kubeconfigPath: string): { readonly endpoint?: string; readonly certificateAuthority?: string } {
  const cluster = (parse(readFileSync(kubeconfigPath, 'utf8')) as Kubeconfig).clusters?.[0]?.cluster;
  const authority = cluster?.['certificate-authority-data'];
  return { ...(cluster?.server === undefined ? {} : { endpoint: cluster.server }), ...(authority === undefined ? {} : { certificateAuthority: authority }) };
}
