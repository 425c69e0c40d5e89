import { existsSync } from 'node:fs';

import { connectKubernetes, namesCluster } from '@dovetail/adapter-kubernetes';
import type { KubeReads, KubeWatches, Log } from '@dovetail/core-ports';

import { isLabKubeconfig, labAddress, labFiles, labNowMs } from '../lab/addresses.js';

/** Which cluster a command line names. */
export type ClusterRequest = {
  /** The kubeconfig. Undefined: the lab's, or as kubectl finds it. */
  readonly kubeconfig?: string;
  /** Whether a lab that runs in this folder comes before the cluster that kubectl finds. */
  readonly labFirst: boolean;
};

/** A cluster that a command may read. Every write is refused before it is sent. */
export type Cluster = {
  readonly kube: KubeReads & KubeWatches;
  /** Its name for messages. */
  readonly name: string;
  readonly isLab: boolean;
  /** Its time, in milliseconds since 1970. A lab's may have moved on. */
  nowMs(): number;
};

/** The longest wait for one list of the API server, in milliseconds. */
const timeoutMs = 30_000;

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A lab leaves its kubeconfig when it ends, and takes its addresses away. A demo has none here. */
const labKubeconfig = (): string | undefined =>
  labAddress('nats') !== undefined && existsSync(labFiles.kubeconfig)
    ? labFiles.kubeconfig
    : undefined;

/** Connects to the cluster. Throws an Error if no kubeconfig names one, or it cannot be read. */
export function clusterOf(request: ClusterRequest, log: Log = silent): Cluster {
  const path = request.kubeconfig ?? (request.labFirst ? labKubeconfig() : undefined);
  const isLab = path !== undefined && isLabKubeconfig(path);
  if (!namesCluster(path)) throw new Error('no kubeconfig names a cluster');
  return {
    kube: connectKubernetes({
      ...(path === undefined ? {} : { kubeconfigPath: path }),
      timeoutMs,
      log,
      mayWrite: () => false,
    }),
    name: isLab ? `the lab of ${path}` : 'the cluster',
    isLab,
    nowMs: isLab ? labNowMs : () => Date.now(),
  };
}
