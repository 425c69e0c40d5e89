import { type KubeApi, KubeError, type KubeObject, type KubeResource } from '@dovetail/core-ports';
import { parseAllDocuments } from 'yaml';

import { kubeApiOver, type KubernetesOptions, restOf } from './kube-api.js';
import { pathOf, type Rest } from './rest.js';

/** Manifests as people write them, for the lab and tests. Services never need them. */
export type ManifestApi = {
  /** Creates the missing objects and merges the others. Returns a line for each object. */
  putManifests(text: string): Promise<readonly string[]>;
};

/** The Kubernetes API, and manifests beside it. */
export function connectKubernetes(options: KubernetesOptions): KubeApi & ManifestApi {
  const rest = restOf(options);
  return { ...kubeApiOver(rest, options.log), putManifests: (text) => putManifests(rest, text) };
}

type Discovered = { resources: { name: string; kind: string; namespaced: boolean }[] };

/** Puts manifests (YAML, any number of documents) into the cluster. */
async function putManifests(rest: Rest, text: string): Promise<readonly string[]> {
  const done: string[] = [];
  for (const document of parseAllDocuments(text)) {
    const object = document.toJS() as KubeObject | null;
    if (object !== null) done.push(await putObject(rest, object));
  }
  return done;
}

async function putObject(rest: Rest, object: KubeObject): Promise<string> {
  const resource = await resourceOf(rest, object);
  const namespace = resource.namespaced ? (object.metadata.namespace ?? 'default') : undefined;
  const at = { namespace, name: object.metadata.name };
  try {
    await rest.json({ method: 'POST', path: pathOf(resource, { namespace }), body: object });
    return `${resource.plural}/${object.metadata.name} created`;
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== 'already-exists') throw error;
    await rest.json({
      method: 'PATCH',
      path: pathOf(resource, at),
      body: object,
      contentType: 'application/merge-patch+json',
    });
    return `${resource.plural}/${object.metadata.name} configured`;
  }
}

async function resourceOf(rest: Rest, object: KubeObject): Promise<KubeResource> {
  const [group, version] =
    object.apiVersion?.includes('/') === true
      ? object.apiVersion.split('/')
      : ['', object.apiVersion];
  const root = group === '' ? `/api/${version ?? ''}` : `/apis/${group ?? ''}/${version ?? ''}`;
  const { resources } = await rest.json<Discovered>({ method: 'GET', path: root });
  const found = resources.find((each) => each.kind === object.kind && !each.name.includes('/'));
  if (found === undefined)
    throw new KubeError(
      'no-such-resource',
      `the API server serves no ${object.kind ?? 'object without a kind'} of ${object.apiVersion ?? 'no apiVersion'}`,
    );
  return {
    group: group ?? '',
    version: version ?? '',
    kind: found.kind,
    plural: found.name,
    namespaced: found.namespaced,
  };
}
