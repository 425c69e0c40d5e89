import {
  type KubeApi,
  type KubeDiscovery,
  KubeError,
  type KubeErrorCode,
  type KubeObject,
  type KubeReads,
  type KubeResource,
  kubeResources,
  type KubeWrites,
  type Log,
  type ObjectRef,
  type PodBindings,
  type PodEvictions,
  type ServerClock,
} from '@dovetail/core-ports';

import { AnswerDates } from './answer-dates.js';
import { kubeConfigAt } from './cluster-ca.js';
import type { RequestPace } from './request-pacer.js';
import { pathOf, type Rest, restOver, urgently } from './rest.js';
import { watchResource } from './watch.js';

/** Which cluster to connect to, and how patiently. */
export type KubernetesOptions = {
  /**
   * Path of a kubeconfig. Absent: KUBECONFIG, ~/.kube/config or the pod's own service account, as
   * kubectl does.
   */
  readonly kubeconfigPath?: string;
  /** How long one request may take. The default is 30 s. It does not bound watches. */
  readonly timeoutMs?: number;
  /** How fast requests may go, all together. Absent: Karpenter's 200 a second, 300 at once. */
  readonly pace?: RequestPace;
  /** How fast bindings of pods may go, beside all others. Absent: 2,000 a second. */
  readonly bindingPace?: RequestPace;
  /** Whether this process may write, asked again when a write's turn has come. Absent: always. */
  readonly mayWrite?: () => boolean;
  readonly log: Log;
};

type Connecting = Omit<KubernetesOptions, 'log'> & { readonly dates?: AnswerDates };

/** Objects in one page of a list, as client-go's pager asks for them. */
const pageSize = 500;
const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;

/** The Kubernetes API with a limit on its requests. */
type PacedKubeApi = KubeApi & {
  /** The same API under the same limit; its requests go before all others that wait. */
  readonly urgent: KubeApi;
  /** The server's clock, as its answers show it. */
  readonly serverClock: ServerClock;
};

/**
 * The Kubernetes API over @kubernetes/client-node's configuration, authentication and TLS. Throws
 * KubeError without a cluster.
 */
export function connectKubernetes(options: KubernetesOptions): PacedKubeApi {
  const serverClock = new AnswerDates();
  const rest = restOf({ ...options, dates: serverClock });
  const urgent = kubeApiOver(urgently(rest), options.log);
  return { ...kubeApiOver(rest, options.log), urgent, serverClock };
}

/** The connection that the options name. */
export function restOf(options: Connecting): Rest {
  const config = kubeConfigAt(options.kubeconfigPath);
  const { timeoutMs = 30_000, pace, bindingPace, mayWrite, dates } = options;
  return restOver(config, {
    timeoutMs,
    ...(pace === undefined ? {} : { pace }),
    ...(bindingPace === undefined ? {} : { bindingPace }),
    ...(mayWrite === undefined ? {} : { mayWrite }),
    ...(dates === undefined ? {} : { dates }),
  });
}

/** The port over a connection. */
export const kubeApiOver = (rest: Rest, log: Log): KubeApi => ({
  watch: (watch, stop) => watchResource(rest, log, watch, stop),
  ...readers(rest),
  ...writers(rest),
  ...podVerbs(rest),
});

type Page = { metadata: { continue?: string }; items: KubeObject[] };

const readers = (rest: Rest): KubeReads & KubeDiscovery => ({
  list: (resource, selection = {}) => listAll(rest, resource, selection),
  get: (ref) =>
    unless(['not-found'], undefined, rest.json<KubeObject>({ method: 'GET', path: pathTo(ref) })),
  serves: (resource) => serves(rest, resource),
  async serverVersion() {
    const version = await rest.json<{ major: string; minor: string }>({
      method: 'GET',
      path: '/version',
    });
    return { major: Number.parseInt(version.major, 10), minor: Number.parseInt(version.minor, 10) };
  },
});

async function listAll(
  rest: Rest,
  resource: KubeResource,
  selection: NonNullable<Parameters<KubeReads['list']>[1]>,
): Promise<readonly KubeObject[]> {
  const { namespace, ...query } = selection;
  const items: KubeObject[] = [];
  let next: string | undefined;
  do {
    const page: Page = await rest.json<Page>({
      method: 'GET',
      path: pathOf(resource, { namespace }),
      query: { ...query, limit: pageSize, continue: next },
    });
    items.push(...page.items);
    next = page.metadata.continue || undefined;
  } while (next !== undefined);
  return items;
}

async function serves(rest: Rest, resource: KubeResource): Promise<boolean> {
  const { group, version, plural } = resource;
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const listing = await unless(
    ['not-found', 'no-such-resource'],
    undefined,
    rest.json<{ resources: { name: string }[] }>({ method: 'GET', path }),
  );
  return listing?.resources.some((known) => known.name === plural) ?? false;
}

const writers = (rest: Rest): KubeWrites => ({
  create: (resource, object) =>
    rest.json({
      method: 'POST',
      path: pathOf(resource, { namespace: object.metadata.namespace }),
      body: typed(resource, object),
    }),
  replace: (resource, object, options) =>
    rest.json({
      method: 'PUT',
      path: pathOf(resource, {
        namespace: object.metadata.namespace,
        name: object.metadata.name,
        ...options,
      }),
      body: typed(resource, object),
    }),
  patch: (ref, patch, options) =>
    rest.json({
      method: 'PATCH',
      path: pathTo(ref, options?.subresource),
      body: patch.body,
      contentType: patchTypes[patch.type],
    }),
  delete: (ref, options = {}) => deleteObject(rest, ref, options),
});

async function deleteObject(
  rest: Rest,
  ref: ObjectRef,
  options: NonNullable<Parameters<KubeWrites['delete']>[1]>,
): Promise<void> {
  const { uid, gracePeriodSeconds, propagation = 'Background' } = options;
  const body = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: propagation,
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(uid === undefined ? {} : { preconditions: { uid } }),
  };
  // A conflict is the UID precondition: another object has taken the name, so ours is gone.
  await unless(
    uid === undefined ? ['not-found'] : ['not-found', 'conflict'],
    undefined,
    rest.json({ method: 'DELETE', path: pathTo(ref), body }),
  );
}

function podVerbs(rest: Rest): PodEvictions & PodBindings {
  const path = (pod: { namespace: string; name: string }, subresource: string): string =>
    pathOf(kubeResources.pods, { ...pod, subresource });
  return {
    async evict(pod) {
      const deleteOptions = {
        preconditions: { uid: pod.uid },
        ...(pod.gracePeriodSeconds === undefined
          ? {}
          : { gracePeriodSeconds: pod.gracePeriodSeconds }),
      };
      const body = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: pod.name, namespace: pod.namespace },
        deleteOptions,
      };
      const request = rest
        .json({ method: 'POST', path: path(pod, 'eviction'), body })
        .then(() => 'evicted' as const);
      return unless(['not-found', 'conflict'], 'gone' as const, request);
    },
    async bind(pod, nodeName) {
      const body = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      };
      await rest.json({ method: 'POST', path: path(pod, 'binding'), body });
    },
  };
}

const typed = (resource: KubeResource, object: KubeObject): KubeObject => ({
  ...object,
  apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`,
  kind: resource.kind,
});

const pathTo = (ref: ObjectRef, subresource?: string): string =>
  pathOf(ref.resource, {
    namespace: ref.namespace,
    name: ref.name,
    ...(subresource === undefined ? {} : { subresource }),
  });

/** The answer of a request. A KubeError with one of these codes becomes the fallback. */
async function unless<T, D>(
  codes: readonly KubeErrorCode[],
  fallback: D,
  work: Promise<T>,
): Promise<T | D> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof KubeError && codes.includes(error.code)) return fallback;
    throw error;
  }
}
