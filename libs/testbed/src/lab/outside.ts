import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { obtainControlPlane } from '../obtain/control-plane.js';
import { namedServer, obtainNatsServer } from '../obtain/nats-server.js';
import { isUnavailable, type Unavailable } from '../obtain/obtained.js';
import { startControlPlane } from '../parts/control-plane.js';
import { controllersDefault, volumeControllers } from '../parts/control-plane-args.js';
import { startNats } from '../parts/nats.js';
import { TestbedError } from '../process/errors.js';
import { httpRequest } from '../process/http.js';
import { type RunningPart, startPart } from '../process/part.js';
import { freePort } from '../process/ports.js';
import { busUsers, seedOf } from './bus-users.js';
import type { LabOptions } from './options.js';

/** The bus of a lab. */
export type Bus = {
  readonly url: string;
  readonly description: string;
  readonly wipeStore: () => Promise<void>;
};

/** The API server of a lab. */
export type Kubernetes = {
  readonly kubeconfig: string;
  readonly url: string;
  readonly description: string;
};

/** The cloud twin of a lab. */
export type Cloud = { readonly url: string; readonly description: string };

/**
 * A real nats-server, or the reason why there is none. Without one the services share a process.
 */
export async function startBus(
  options: LabOptions,
  parts: Map<string, RunningPart>,
): Promise<Bus | Unavailable> {
  const found = await obtainNatsServer({ log: options.progress });
  if (isUnavailable(found)) {
    if (namedServer() === undefined) return found;
    throw new TestbedError({
      failed: found.unavailable.split('\n', 1)[0] ?? '',
      remedy:
        'set NATS_SERVER to a nats-server of 2.11 or newer, or unset it; with NATS_SERVER=none all services run in one process',
    });
  }
  const config = await busUsers(options);
  const nats = await startNats({ path: found.path, dir: join(options.dir, 'nats'), config });
  parts.set('nats-server', nats);
  parts.set('nats-streams', await startStreams(options, nats.url));
  return {
    url: nats.url,
    description: `nats-server ${found.version}: real, ${nats.url}`,
    wipeStore: () => nats.wipeStore(),
  };
}

/** Starts the maker of the streams, and returns once they are there. No service may make them. */
function startStreams(options: LabOptions, url: string): Promise<RunningPart> {
  const logFile = join(options.dir, 'logs', 'nats-streams.log');
  const cli = join(options.distDir, 'cli.js');
  return startPart({
    name: 'nats-streams',
    command: process.execPath,
    args: ['--max-old-space-size=64', cli, 'nats-streams', '--keep', '--sinks'],
    logFile,
    env: {
      CLUSTER_NAME: options.clusterName,
      NATS_URL: url,
      NATS_CREDENTIALS: seedOf(options, 'streams'),
    },
    ready: async () => (await readFile(logFile, 'utf8')).includes('are there'),
    readyDeadlineMs: 60_000,
  });
}

/** Starts the real control plane or its twin, as the lab's options say. */
export async function startKubernetes(
  options: LabOptions,
  clockFile: string,
  parts: Map<string, RunningPart>,
): Promise<Kubernetes> {
  return options.world === 'real'
    ? startRealKubernetes(options, parts)
    : startTwinKubernetes(options, clockFile, parts);
}

async function startRealKubernetes(
  options: LabOptions,
  parts: Map<string, RunningPart>,
): Promise<Kubernetes> {
  const found = await obtainControlPlane({ log: options.progress });
  if (isUnavailable(found))
    throw new TestbedError({
      failed: `no control plane: ${found.unavailable}`,
      remedy: 'run without REAL=1 to use the Kubernetes twin',
    });
  const plane = await startControlPlane({
    paths: found.paths,
    dir: join(options.dir, 'kubernetes'),
    clusterName: options.clusterName,
    controllers: [...controllersDefault, ...volumeControllers],
  });
  for (const [name, part] of Object.entries(plane.parts)) parts.set(name, part);
  return {
    kubeconfig: plane.kubeconfig,
    url: plane.url,
    description: `Kubernetes: real (kube-apiserver, etcd, kube-scheduler, kube-controller-manager), ${plane.url}`,
  };
}

async function startTwinKubernetes(
  options: LabOptions,
  clockFile: string,
  parts: Map<string, RunningPart>,
): Promise<Kubernetes> {
  const port = await freePort();
  const kubeconfig = join(options.dir, 'kubeconfig');
  const part = await startRole(
    options,
    'kube',
    {
      PORT: String(port),
      KUBECONFIG_OUT: kubeconfig,
      TEST_CLOCK_FILE: clockFile,
      KUBERNETES_VERSION: options.kubernetesVersion,
    },
    async () => (await httpRequest(`http://127.0.0.1:${port}/readyz`)).status === 200,
  );
  parts.set('kubernetes', part);
  return {
    kubeconfig,
    url: `http://127.0.0.1:${port}`,
    description: `Kubernetes: twin (API server, scheduler, controllers), http://127.0.0.1:${port}`,
  };
}

/** The cloud twin, with the kubelet stand-ins of the machines it boots. */
export async function startCloud(
  options: LabOptions,
  at: { readonly clockFile: string; readonly kubeconfig: string },
  parts: Map<string, RunningPart>,
): Promise<Cloud> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    PORT: String(port),
    KUBECONFIG: at.kubeconfig,
    TEST_CLOCK_FILE: at.clockFile,
    AWS_REGION: options.region,
    CLUSTER_NAME: options.clusterName,
    KUBERNETES_VERSION: options.kubernetesVersion,
    IAM_POLICIES: join(options.distDir, '..', 'deploy', 'iam'),
    ...(options.zones === undefined ? {} : { ZONES: options.zones.join(',') }),
    ...options.env?.['cloud'],
  };
  const part = await startRole(
    options,
    'cloud',
    env,
    async () => (await httpRequest(`${url}/_twin/health`)).status === 200,
  );
  parts.set('cloud', part);
  return {
    url,
    description: `EC2, SQS, SSM, Pricing, IAM, EKS and kubelets: twin, ${options.region}, ${url}`,
  };
}

async function startRole(
  options: LabOptions,
  role: 'kube' | 'cloud',
  env: Readonly<Record<string, string>>,
  ready: () => Promise<boolean>,
): Promise<RunningPart> {
  await mkdir(options.dir, { recursive: true });
  return startPart({
    name: role,
    command: process.execPath,
    args: [join(options.distDir, 'lab.js'), `${role}-twin`],
    logFile: join(options.dir, 'logs', `${role}.log`),
    env,
    ready,
    readyDeadlineMs: 60_000,
  });
}
