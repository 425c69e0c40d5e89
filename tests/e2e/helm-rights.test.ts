import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { type KubeResource, kubeResources } from '@dovetail/core-ports';
import { helmFor, type Rendered, rendererOf, theOne } from '@dovetail/test-support/chart';
import { roleOf, type Rule } from '@dovetail/test-support/chart-roles';
import { describe, expect, test } from 'vitest';

/**
 * Compares the chart's roles with the sources, both ways: each kind that a service names is in its
 * role, and no other; each verb of its role is of a method that it calls.
 */
const root = join(import.meta.dirname, '..', '..');
const helm = await helmFor('rights of the chart');
const render = rendererOf(helm);

type Role = Rendered & { readonly rules: readonly Rule[] };

const sourcesIn = (folder: string): string =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/\.test\.|^testing/.test(path))
    .map((path) => readFileSync(join(root, folder, path), 'utf8'))
    .join('\n');
const ownSource = (service: string): string => sourcesIn(`libs/services/${service}/src`);
const sorted = (values: Iterable<string>): readonly string[] => [...new Set(values)].toSorted();

const qualified = ({ group, plural }: KubeResource): string =>
  group === '' ? plural : `${plural}.${group}`;
const known = new Map<string, KubeResource>(Object.entries(kubeResources));
/** The kinds that a source names, and Events if it records any. */
const namedIn = (source: string): readonly string[] =>
  sorted(
    [
      ...[...source.matchAll(/\bkubeResources\.(\w+)/g)].map(([, name = '']) => name),
      ...(source.includes('EventRecorder') ? ['events'] : []),
    ].map((name) => qualified(known.get(name) as KubeResource)),
  );

/** The verbs behind a method, or behind a function of the kit that calls it. */
const verbsOf: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\b\w*[kK]ube\.list\(/, ['list']],
  [/\b\w*[kK]ube\.get\(/, ['get']],
  [/\b\w*[kK]ube\.create\(/, ['create']],
  [/\b\w*[kK]ube\.delete\(/, ['delete']],
  [/\b\w*[kK]ube\.replace\(/, ['update']],
  [/\b\w*[kK]ube\.(evict|bind)\(/, ['create']],
  [/\bwatchServed\(|\bwatch\(/, ['list', 'watch']],
  [/\bchange(Live|Guarded|Conditions)\(/, ['get', 'patch']],
  [/\bEventRecorder\b/, ['create', 'patch']],
];
const calledIn = (source: string): readonly string[] =>
  sorted(verbsOf.flatMap(([call, verbs]) => (call.test(source) ? verbs : [])));

const rulesOf = async (component: string): Promise<readonly Rule[]> =>
  theOne<Role>(await render(), 'ClusterRole', `-${component}`).rules;
const kindsOf = (rules: readonly Rule[]): readonly string[] =>
  sorted(
    rules.flatMap(({ apiGroups: [group = ''], resources }) =>
      resources.map((resource) => {
        const [plural = ''] = resource.split('/');
        return group === '' ? plural : `${plural}.${group}`;
      }),
    ),
  );

(helm === undefined ? describe.skip : describe)('rights of the chart', () => {
  test.each(['pod-watcher', 'launcher', 'reaper'])(
    'the role of %s has the kinds that its source names, and no other',
    async (service) => {
      // Binding goes to pods, which the launcher also watches.
      expect(kindsOf(await rulesOf(service))).toEqual(namedIn(ownSource(service)));
    },
  );

  test.each(['pod-watcher', 'launcher', 'reaper'])(
    'the role of %s has the verbs of the methods that it calls, and no other',
    async (service) => {
      const verbs = sorted((await rulesOf(service)).flatMap((rule) => rule.verbs));
      expect(verbs).toEqual(calledIn(ownSource(service)));
    },
  );

  test.each(['pod-watcher', 'launcher', 'reaper'])(
    'the rules by which the stories are played are those of %s',
    async (service) => {
      const objects = await render();
      const rules = [
        ...(await rulesOf(service)),
        ...theOne<Role>(objects, 'Role', `-${service}`).rules,
      ];
      expect(roleOf(service)).toEqual(rules);
    },
  );

  test('nothing but a Lease is ever replaced, so no role may update', () => {
    const replaced = ['libs/services/kit/src', 'libs/runtime/src'].flatMap((folder) =>
      [...sourcesIn(folder).matchAll(/\bkube\.replace\((?!\.\.\.)\s*([\w.]+)/g)].map(
        ([, what = '']) => what,
      ),
    );
    expect(sorted(replaced)).toEqual(['kubeResources.leases']);
  });

  test('the guard may list the kinds that it looks for, and nothing else', async () => {
    const rules = await rulesOf('guard');
    expect(kindsOf(rules)).toEqual(namedIn(sourcesIn('apps/cli/src/uninstall')));
    expect(sorted(rules.flatMap(({ verbs }) => verbs))).toEqual(['list']);
  });
});
