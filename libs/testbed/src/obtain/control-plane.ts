import { join } from 'node:path';

import { TestbedError } from '../process/errors.js';
import { etcdVersionOf, installKubernetes, kubernetesVersionDefault } from './kubernetes.js';
import { type ObtainOptions, orUnavailable, settingsOf, type Unavailable } from './obtained.js';

/** The four programs of a control plane. */
export type ControlPlanePaths = {
  readonly etcd: string;
  readonly apiserver: string;
  readonly controllerManager: string;
  readonly scheduler: string;
};

/** A control plane that can be started. */
export type ControlPlanePrograms = {
  readonly paths: ControlPlanePaths;
  readonly kubernetesVersion: string;
  readonly etcdVersion: string;
};

/**
 * Obtains etcd and the Kubernetes control plane, built from source the first time (about 5 minutes)
 * and cached. `$ETCD` names another etcd to use.
 */
export async function obtainControlPlane(
  options: ObtainOptions & { readonly kubernetesVersion?: string } = {},
): Promise<ControlPlanePrograms | Unavailable> {
  return await orUnavailable(async () => {
    const kubernetesVersion = options.kubernetesVersion ?? kubernetesVersionDefault;
    const folder = await installKubernetes(kubernetesVersion, settingsOf(options));
    const etcd = process.env['ETCD'] || join(folder, 'etcd');
    const paths = {
      etcd,
      apiserver: join(folder, 'kube-apiserver'),
      controllerManager: join(folder, 'kube-controller-manager'),
      scheduler: join(folder, 'kube-scheduler'),
    };
    return { paths, kubernetesVersion, etcdVersion: await checkedEtcdVersion(etcd) };
  });
}

async function checkedEtcdVersion(path: string): Promise<string> {
  const version = await etcdVersionOf(path);
  if (version !== undefined) return version;
  throw new TestbedError({
    failed: `ETCD=${path} is not a working etcd`,
    remedy: 'set ETCD to a working one, or unset it',
  });
}
