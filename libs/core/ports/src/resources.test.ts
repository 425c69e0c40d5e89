import { describe, expect, test } from 'vitest';

import { kubeResources } from './resources.js';

const all = Object.entries(kubeResources);

describe.each(all)('the resource %s', (name, resource) => {
  test('is known by its plural, as in paths of the API server', () =>
    expect(resource.plural).toBe(name.toLowerCase()));

  test('has a kind whose lower case begins its plural', () => {
    const stem = resource.kind.toLowerCase().replace(/y$/, '');
    expect(resource.plural.startsWith(stem)).toBe(true);
  });

  test('has a group that is a domain, or is in the core group', () =>
    expect(resource.group).toMatch(/^$|^apps$|^policy$|^[a-z0-9]+(\.[a-z0-9-]+)+$/));

  test('has a version of Kubernetes', () =>
    expect(resource.version).toMatch(/^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$/));
});

test('no two resources share a path', () =>
  expect(new Set(all.map(([, { group, plural }]) => `${group}/${plural}`)).size).toBe(all.length));

test.each(['pods', 'events', 'persistentVolumeClaims', 'leases', 'daemonSets'] as const)(
  '%s live in namespaces',
  (name) => expect(kubeResources[name].namespaced).toBe(true),
);

test.each([
  'nodes',
  'nodePools',
  'nodeClaims',
  'persistentVolumes',
  'namespaces',
  'provisioners',
] as const)('%s are of the whole cluster', (name) =>
  expect(kubeResources[name].namespaced).toBe(false),
);
