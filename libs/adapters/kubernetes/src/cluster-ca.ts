import { readFileSync } from 'node:fs';

import { KubeConfig } from '@kubernetes/client-node';

/** The configuration at a path; without one, as kubectl and a pod's service account find it. */
export function kubeConfigAt(path: string | undefined): KubeConfig {
  const config = new KubeConfig();
  if (path === undefined) config.loadFromDefault();
  else config.loadFromFile(path);
  return config;
}

/**
 * Whether a configuration is found at the path, or without one where kubectl looks, or in a pod.
 * Otherwise the library makes one up, for a server that nobody runs.
 */
export function namesCluster(path: string | undefined): boolean {
  const { name, server } = kubeConfigAt(path).getCurrentCluster() ?? {};
  return server !== undefined && !(name === 'cluster' && server === 'http://localhost:8080');
}

/**
 * Base64 of the CA certificates by which this process trusts the API server. Undefined when the
 * configuration names none.
 */
export function trustedCa(kubeconfigPath: string | undefined): string | undefined {
  const { caData, caFile } = kubeConfigAt(kubeconfigPath).getCurrentCluster() ?? {};
  if (caData !== undefined) return caData;
  return caFile === undefined ? undefined : readFileSync(caFile).toString('base64');
}
