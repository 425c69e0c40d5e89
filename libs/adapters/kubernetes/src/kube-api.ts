import { KubeConfig } from '@kubernetes/client-node';
import { type KubeApi, KubeError, type KubeErrorCode, type KubeObject, type KubeResource, type Log, type ObjectRef, kubeResources } from '@dovetail/core-ports';
import { putManifests } from './manifests.js';
import { pathOf, type Rest, restOver } from './rest.js';
import { watchResource } from './watch.js';

export type KubernetesOptions = {
  /** Path of a kubeconfig; absent: KUBECONFIG, ~/.kube/config or the pod's own service account, as kubectl does. */
  readonly kubeconfigPath?: string;
  /** How long one request may take; watches are not bounded by it. */
  readonly timeoutMs?: number;
  readonly log: Log;
};

/** Manifests as people write them, for the lab and tests: services never need it. */
export type ManifestApi = {
  /** Creates what is missing and merges what is there; answers a line for each object. */
  putManifests(text: string): Promise<readonly string[]>;
};

const pageSize = 500;
const patchTypes = { merge: 'application/merge-patch+json', json: 'application/json-patch+json' } as const;

/** The Kubernetes API over @kubernetes/client-node's configuration, authentication and TLS. */
export function connectKubernetes(options: KubernetesOptions): KubeApi & ManifestApi {
  const config = new KubeConfig();
  if (options.kubeconfigPath === undefined) config.loadFromDefault();
  else config.loadFromFile(options.kubeconfigPath);
  const rest = restOver(config, { timeoutMs: options.timeoutMs ?? 30_000 });
  return { putManifests: (text) => putManifests(rest, text), watch: (watch, stop) => watchResource(rest, options.log, watch, stop), ...readers(rest), ...writers(rest), ...podVerbs(rest) };
}

type Page = { metadata: { continue?: string }; items: KubeObject[] };

function readers(rest: Rest): Pick<KubeApi, 'list' | 'get' | 'serves' | 'serverVersion'> {
  return {
    async list(resource, selection = {}) {
      const { namespace, ...query } = selection;
      const items: KubeObject[] = [];
      let next: string | undefined;
      do {
        const page: Page = await rest.json<Page>({ method: 'GET', path: pathOf(resource, { namespace }), query: { ...query, limit: pageSize, continue: next } });
        items.push(...page.items);
        next = page.metadata.continue || undefined;
      } while (next !== undefined);
      return items;
    },
    get: (ref) => unless(['not-found'], undefined, rest.json<KubeObject>({ method: 'GET', path: pathTo(ref) })),
    serves: async (resource) => {
      const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
      const listing = await unless(['not-found', 'no-such-resource'], undefined, rest.json<{ resources: { name: string }[] }>({ method: 'GET', path: root }));
      return listing?.resources.some((known) => known.name === resource.plural) ?? false;
    },
    async serverVersion() {
      const version = await rest.json<{ major: string; minor: string }>({ method: 'GET', path: '/version' });
      return { major: Number.parseInt(version.major, 10), minor: Number.parseInt(version.minor, 10) };
    },
  };
}

function writers(rest: Rest): Pick<KubeApi, 'create' | 'replace' | 'patch' | 'delete'> {
  return {
    create: (resource, object) => rest.json({ method: 'POST', path: pathOf(resource, { namespace: object.metadata.namespace }), body: typed(resource, object) }),
    replace: (resource, object, options) =>
      rest.json({ method: 'PUT', path: pathOf(resource, { namespace: object.metadata.namespace, name: object.metadata.name, ...options }), body: typed(resource, object) }),
    patch: (ref, patch, options) =>
      rest.json({ method: 'PATCH', path: pathTo(ref, options?.subresource), body: patch.body, contentType: patchTypes[patch.type] }),
    async delete(ref, options = {}) {
      const body = {
        apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: options.propagation ?? 'Background',
        ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
        ...(options.uid === undefined ? {} : { preconditions: { uid: options.uid } }),
      };
      // A conflict here is the UID precondition: another object has taken the name, so ours is gone.
      await unless(options.uid === undefined ? ['not-found'] : ['not-found', 'conflict'], undefined, rest.json({ method: 'DELETE', path: pathTo(ref), body }));
    },
  };
}

function podVerbs(rest: Rest): Pick<KubeApi, 'evict' | 'bind'> {
  const path = (pod: { namespace: string; name: string }, subresource: string): string => pathOf(kubeResources.pods, { ...pod, subresource });
  return {
    async evict(pod) {
      const deleteOptions = { preconditions: { uid: pod.uid }, ...(pod.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: pod.gracePeriodSeconds }) };
      const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod.name, namespace: pod.namespace }, deleteOptions };
      const request = rest.json({ method: 'POST', path: path(pod, 'eviction'), body }).then(() => 'evicted' as const);
      return unless(['not-found', 'conflict'], 'gone' as const, request);
    },
    async bind(pod, nodeName) {
      const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: pod.name, namespace: pod.namespace, uid: pod.uid }, target: { apiVersion: 'v1', kind: 'Node', name: nodeName } };
      await rest.json({ method: 'POST', path: path(pod, 'binding'), body });
    },
  };
}

const typed = (resource: KubeResource, object: KubeObject): KubeObject => ({
  ...object, apiVersion: resource.group === '' ? resource.version : `${resource.group}/${resource.version}`, kind: resource.kind,
});

const pathTo = (ref: ObjectRef, subresource?: string): string =>
  pathOf(ref.resource, { namespace: ref.namespace, name: ref.name, ...(subresource === undefined ? {} : { subresource }) });

async function unless<T, D>(codes: readonly KubeErrorCode[], fallback: D, work: Promise<T>): Promise<T | D> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof KubeError && codes.includes(error.code)) return fallback;
    throw error;
  }
}
