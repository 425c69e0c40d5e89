import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { ControlPlanePaths } from '../obtain/control-plane.js';
import { httpRequest } from '../process/http.js';
import { type RunningPart, startPart } from '../process/part.js';
import { freePort } from '../process/ports.js';
import type { ControlPlanePorts, ControlPlaneSwitches } from './control-plane-args.js';
import {
  apiserverArgs,
  controllerManagerArgs,
  controllersDefault,
  etcdArgs,
  schedulerArgs,
} from './control-plane-args.js';
import {
  type ControlPlaneFiles,
  filesIn,
  kubeconfigText,
  prepareFiles,
} from './control-plane-files.js';

/** How to start a control plane. */
export type ControlPlaneOptions = {
  readonly paths: ControlPlanePaths;
  /** The folder of data, keys, kubeconfig and logs. An earlier start's files are used again. */
  readonly dir: string;
  readonly clusterName: string;
  readonly ports?: Partial<ControlPlanePorts>;
  /**
   * Gives pods a service account and its token, as in any cluster. Default off: pods then need no
   * account.
   */
  readonly serviceAccountAdmission?: boolean;
  /**
   * Nodes without a heartbeat become NotReady after 40 seconds and lose their pods after five
   * minutes. Default off, because nodes of tests have no heartbeat. Switch it on where leases are
   * renewed.
   */
  readonly nodeLifecycle?: boolean;
  /** Instead of `controllersDefault`. */
  readonly controllers?: readonly string[];
  /** For each of the four processes. */
  readonly readyDeadlineMs?: number;
};

/** The processes of a control plane, each to be killed and restarted by itself. */
type ControlPlaneParts = {
  readonly etcd: RunningPart;
  readonly apiserver: RunningPart;
  readonly controllerManager: RunningPart;
  readonly scheduler: RunningPart;
};

/** A Kubernetes control plane without nodes. */
export type RunningControlPlane = {
  readonly clusterName: string;
  readonly url: string;
  readonly etcdUrl: string;
  /** Path of a kubeconfig with all rights. */
  readonly kubeconfig: string;
  /** The administrator's bearer token. */
  readonly token: string;
  /** PEM text of the authority behind the server's certificate. */
  readonly ca: string;
  readonly parts: ControlPlaneParts;
  /** Stops all four, clients before servers. */
  stop(): Promise<void>;
};

type Setup = ControlPlaneOptions &
  ControlPlaneSwitches & { readonly files: ControlPlaneFiles; readonly ports: ControlPlanePorts };
type Component = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Answers 200 when the component is ready. */
  readonly url: string;
};

/** Records a started part, so that it is stopped when a later one fails. */
type Keep = (part: RunningPart) => RunningPart;

/**
 * Starts etcd, apiserver, controller-manager and scheduler on loopback. Returns when all are
 * healthy.
 */
export async function startControlPlane(
  options: ControlPlaneOptions,
): Promise<RunningControlPlane> {
  const setup = await setupOf(options);
  const started: RunningPart[] = [];
  const keep: Keep = (part) => {
    started.unshift(part);
    return part;
  };
  try {
    return await startInOrder(setup, keep);
  } catch (thrown) {
    await stopAll(started);
    throw thrown;
  }
}

async function startInOrder(setup: Setup, keep: Keep): Promise<RunningControlPlane> {
  const { files, ports, paths, clusterName } = setup;
  const token = await prepareFiles(files);
  const url = `https://127.0.0.1:${ports.apiserver}`;
  const etcdUrl = `http://127.0.0.1:${ports.etcd}`;
  const health = {
    name: 'etcd',
    command: paths.etcd,
    args: etcdArgs(setup),
    url: `${etcdUrl}/health`,
  };
  const etcd = keep(await start(setup, health));
  const readyz = {
    name: 'kube-apiserver',
    command: paths.apiserver,
    args: apiserverArgs(setup),
    url: `${url}/readyz`,
  };
  const apiserver = keep(await start(setup, readyz, files.ca));
  const ca = await readFile(files.ca, 'utf8');
  await writeFile(files.kubeconfig, kubeconfigText({ clusterName, url, ca, token }), {
    mode: 0o600,
  });
  const [controllerManager, scheduler] = await startClients(setup, keep);
  const parts = { etcd, apiserver, controllerManager, scheduler };
  const stop = (): Promise<void> => stopAll([controllerManager, scheduler, apiserver, etcd]);
  return { clusterName, url, etcdUrl, kubeconfig: files.kubeconfig, token, ca, parts, stop };
}

/** Starts both at once. When one fails the other is still recorded, so that it is stopped. */
async function startClients(setup: Setup, keep: Keep): Promise<[RunningPart, RunningPart]> {
  const { paths, ports, files } = setup;
  const startOne = async (
    name: string,
    command: string,
    args: readonly string[],
    port: number,
  ): Promise<RunningPart> => {
    const url = `https://127.0.0.1:${port}/healthz`;
    return keep(
      await start(setup, { name, command, args, url }, join(files.certificates, `${name}.crt`)),
    );
  };
  const starting = [
    startOne(
      'kube-controller-manager',
      paths.controllerManager,
      controllerManagerArgs(setup),
      ports.controllerManager,
    ),
    startOne('kube-scheduler', paths.scheduler, schedulerArgs(setup), ports.scheduler),
  ] as const;
  await Promise.allSettled(starting);
  return await Promise.all(starting);
}

/** Each process writes its own certificate, so reading it is a part of the readiness check. */
async function start(
  setup: Setup,
  component: Component,
  certificateFile?: string,
): Promise<RunningPart> {
  const { name, command, args, url } = component;
  return await startPart({
    name,
    command,
    args,
    logFile: setup.files.log(name),
    readyDeadlineMs: setup.readyDeadlineMs ?? 60_000,
    ready: async () => {
      const trust =
        certificateFile === undefined ? {} : { ca: await readFile(certificateFile, 'utf8') };
      return (await httpRequest(url, trust)).status === 200;
    },
  });
}

async function setupOf(options: ControlPlaneOptions): Promise<Setup> {
  const wanted = options.ports ?? {};
  const ports = {
    etcd: wanted.etcd || (await freePort()),
    etcdPeer: wanted.etcdPeer || (await freePort()),
    apiserver: wanted.apiserver || (await freePort()),
    controllerManager: wanted.controllerManager || (await freePort()),
    scheduler: wanted.scheduler || (await freePort()),
  };
  return {
    ...options,
    ports,
    files: filesIn(options.dir),
    serviceAccountAdmission: options.serviceAccountAdmission ?? false,
    nodeLifecycle: options.nodeLifecycle ?? false,
    controllers: options.controllers ?? controllersDefault,
  };
}

async function stopAll(parts: readonly RunningPart[]): Promise<void> {
  for (const part of parts) await part.stop();
}
