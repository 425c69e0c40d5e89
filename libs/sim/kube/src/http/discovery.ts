import { compareText } from '@dovetail/core-kube-model';

import { apiVersionOf, type Registry, type ResourceType } from '../store/registry.js';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const createdOnly = ['eviction', 'binding'];
const subresourceKinds: Readonly<
  Record<string, { readonly group: string; readonly version: string; readonly kind: string }>
> = {
  scale: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
  eviction: { group: 'policy', version: 'v1', kind: 'Eviction' },
  binding: { group: '', version: 'v1', kind: 'Binding' },
};

const named = (type: ResourceType): object => ({
  name: type.plural,
  singularName: type.singular,
  namespaced: type.namespaced,
  kind: type.kind,
  verbs,
  ...(type.shortNames.length === 0 ? {} : { shortNames: type.shortNames }),
  ...(type.categories.length === 0 ? {} : { categories: type.categories }),
});

function subresources(type: ResourceType): readonly object[] {
  return type.subresources.map((name) => {
    const kind = subresourceKinds[name];
    const shape =
      kind === undefined
        ? { kind: type.kind }
        : { ...kind, ...(kind.group === '' ? { group: undefined, version: undefined } : {}) };
    return {
      name: `${type.plural}/${name}`,
      singularName: '',
      namespaced: type.namespaced,
      ...shape,
      verbs: createdOnly.includes(name) ? ['create'] : ['get', 'patch', 'update'],
    };
  });
}

/** The resources of one group and version; undefined when nothing is served there. */
export function resourceList(
  registry: Registry,
  group: string,
  version: string,
): object | undefined {
  const types = registry
    .all()
    .filter((type) => type.group === group && type.version === version)
    .sort((left, right) => compareText(left.plural, right.plural));
  if (types.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: group === '' ? version : `${group}/${version}`,
    resources: types.flatMap((type) => [named(type), ...subresources(type)]),
  };
}

const stability = (version: string): number =>
  version.includes('alpha') ? 0 : version.includes('beta') ? 1 : 2;

/** Newest first, stable ones before betas before alphas. */
const byVersion = (left: string, right: string): number =>
  stability(right) - stability(left) || compareText(right, left);

function versionsByGroup(registry: Registry): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, Set<string>>();
  for (const type of registry.all())
    if (type.group !== '')
      groups.set(type.group, (groups.get(type.group) ?? new Set()).add(type.version));
  return new Map(
    [...groups]
      .sort(([left], [right]) => compareText(left, right))
      .map(([group, versions]) => [group, [...versions].sort(byVersion)]),
  );
}

const groupEntry = (group: string, versions: readonly string[]): object => {
  const entries = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: entries, preferredVersion: entries[0] };
};

/** All named groups. */
export const groupList = (registry: Registry): object => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: [...versionsByGroup(registry)].map(([group, versions]) => groupEntry(group, versions)),
});

/** One group; undefined when it is not served. */
export function groupOf(registry: Registry, group: string): object | undefined {
  const versions = versionsByGroup(registry).get(group);
  return versions === undefined
    ? undefined
    : { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group, versions) };
}

/** The versions of the unnamed group. */
export const versionList = (host: string): object => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: host }],
});

/** Every group and version that is served, as OpenAPI paths name them. */
export function openApiPaths(registry: Registry): readonly string[] {
  const paths = new Set(
    registry
      .all()
      .map((type) => (type.group === '' ? `api/${type.version}` : `apis/${apiVersionOf(type)}`)),
  );
  return [...paths].sort(compareText);
}
