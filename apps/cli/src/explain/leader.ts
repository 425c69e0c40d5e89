import { connectKubernetes, namesCluster } from '@dovetail/adapter-kubernetes';
import type { PodPort } from '@dovetail/adapter-kubernetes/pod-port';
import { type KubeObject, type KubeReads, kubeResources } from '@dovetail/core-ports';

import type { ExplainRequest } from './request.js';

/** The Lease that the reaper's replicas lead by. */
const leaseName = 'dovetail-reaper';
/** The port that the chart gives the reaper unless its values name another one. */
const defaultPort = 8080;
/** The longest wait for the API server, in milliseconds. */
const timeoutMs = 10_000;

type Lease = KubeObject & { readonly spec?: { readonly holderIdentity?: string } };
type Pod = KubeObject & {
  readonly spec?: {
    readonly containers?: readonly {
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
    }[];
  };
};

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The leading reaper's Lease. Throws an Error that says what is missing. */
async function leaseOf(kube: KubeReads, namespace: string | undefined): Promise<Lease> {
  const found = (await kube.list(kubeResources.leases, {
    fieldSelector: `metadata.name=${leaseName}`,
    ...(namespace === undefined ? {} : { namespace }),
  })) as readonly Lease[];
  const [lease, another] = found;
  if (lease === undefined)
    throw new Error(
      `there is no Lease ${leaseName}${namespace === undefined ? '' : ` in namespace ${namespace}`}`,
    );
  if (another !== undefined)
    throw new Error(
      `there are several Leases ${leaseName}: name one of the namespaces ${found.map(({ metadata }) => metadata.namespace ?? '').join(', ')} with --namespace`,
    );
  return lease;
}

/**
 * The port of the reaper that leads, by its Lease. Only it knows what solvers said of a node. The
 * holder of the Lease is the pod's name and eight random hexadecimal digits (libs/runtime). Throws
 * an Error or a KubeError that says what is missing.
 */
export async function leadingReaper({
  kubeconfig,
  namespace,
}: Pick<ExplainRequest, 'kubeconfig' | 'namespace'>): Promise<PodPort> {
  if (!namesCluster(kubeconfig)) throw new Error('no kubeconfig names a cluster');
  const at = kubeconfig === undefined ? {} : { kubeconfigPath: kubeconfig };
  const kube = connectKubernetes({ ...at, timeoutMs, log: silent, mayWrite: () => false });
  const { metadata, spec } = await leaseOf(kube, namespace);
  const within = metadata.namespace ?? '';
  const holder = spec?.holderIdentity ?? '';
  if (holder === '') throw new Error(`no reaper leads now: Lease ${within}/${leaseName} is free`);
  const name = holder.replace(/-[0-9a-f]{8}$/, '');
  const pod = (await kube.get({ resource: kubeResources.pods, namespace: within, name })) as
    Pod | undefined;
  if (pod === undefined)
    throw new Error(
      `${holder} holds Lease ${within}/${leaseName}, and there is no pod ${within}/${name}`,
    );
  const ports = (pod.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  const http = ports.find((port) => port.name === 'http');
  return { ...at, namespace: within, pod: name, port: http?.containerPort ?? defaultPort };
}
