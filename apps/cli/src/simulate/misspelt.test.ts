import { describe, expect, test } from 'vitest';

import { folderOf, pod, pool, resultOf, simulate } from './testing/simulating.js';
import { validWorld } from './testing/valid-world.js';

const web = (spec: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, resources: {requests: {cpu: 1}}}]
${spec}`;

describe('a field that its kind does not have', () => {
  test.each<[string, string, string]>([
    [
      'a field of a pod template',
      web('      topologySpreadContraints: []\n'),
      ':11: spec.template.spec.topologySpreadContraints: Deployment has no such field, so it changes nothing: did you mean topologySpreadConstraints?',
    ],
    [
      'the requests of a container',
      web('').replace('requests', 'reqests'),
      ':10: spec.template.spec.containers[0].resources.reqests: Deployment has no such field, so it changes nothing: did you mean requests?',
    ],
    [
      'a resource',
      web('').replace('{cpu: 1}', '{cpi: 1}'),
      ':10: spec.template.spec.containers[0].resources.requests.cpi: Deployment has no such field, so it changes nothing: did you mean cpu?',
    ],
    [
      'a field of a pool',
      pool('  limts: {cpu: 1}\n'),
      ':12: spec.limts: NodePool has no such field, so it changes nothing: did you mean limits?',
    ],
    [
      'a field that is like no other',
      pool('  whatever: 1\n'),
      ':12: spec.whatever: NodePool has no such field, so it changes nothing: remove it',
    ],
    [
      "one of Dovetail's annotations",
      pool().replace(
        'metadata: {name: default}',
        'metadata: {name: default, annotations: {dovetail.sh/max-launches-per-minut: "1"}}',
      ),
      ':4: metadata.annotations.dovetail.sh/max-launches-per-minut: NodePool has no such field, so it changes nothing: did you mean dovetail.sh/max-launches-per-minute?',
    ],
  ])('%s is named with its line and remedy, and the rest is planned', async (_name, text, said) => {
    const folder = folderOf({ 'pool.yaml': pool(), 'pod.yaml': pod('a', '1'), 'x.yaml': text });
    const ran = await simulate([folder]);
    // No node has a resource of an unknown name, so that pod is not placed.
    expect(ran.code).toBe(text.includes('cpi') ? 2 : 0);
    expect(ran.err).toContain(`warning: ${folder}/x.yaml${said}\n`);
    expect(resultOf(ran).problems).toMatchObject([{ code: 'unknown-field' }]);
    expect((await simulate([folder], { strict: true })).code).toBe(64);
  });

  test('is said once for all objects of a file', async () => {
    const pods = ['a', 'b', 'c'].map((name) => pod(name, '1', '  nodeSelecter: {}\n'));
    const { err } = await simulate([folderOf({ 'x.yaml': [pool(), ...pods].join('\n---\n') })]);
    expect(err).toMatch(/changes nothing, here and in 2 more places: did you mean nodeSelector\?/);
    expect(err.split('\n')).toHaveLength(2);
  });
});

describe('a kind that does not exist', () => {
  test.each([
    ['Deploymnt', 'apps/v1', 'did you mean Deployment?'],
    ['NodePol', 'karpenter.sh/v1', 'did you mean NodePool?'],
    ['NodePool', 'karpener.sh/v1', 'did you mean NodePool of karpenter.sh/v1?'],
  ])('%s of %s is named, and left out of the plan', async (kind, apiVersion, remedy) => {
    const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: x}\n`;
    const folder = folderOf({ 'world.yaml': `${pool()}\n---\n${pod('a', '1')}`, 'x.yaml': text });
    const ran = await simulate([folder]);
    expect(ran.code).toBe(4);
    expect(ran.err).toContain(`is no kind that is read, so it is left out: ${remedy}\n`);
    expect(ran.err).not.toContain('play no part');
    expect(resultOf(ran).problems).toMatchObject([{ code: 'unknown-kind' }]);
    expect(await simulate([folder], { strict: true })).toMatchObject({ code: 64, out: '' });
  });

  test.each([
    ['Role', 'rbac.authorization.k8s.io/v1'],
    ['Service', 'v1'],
    ['Rollout', 'argoproj.io/v1alpha1'],
    ['CSIDriver', 'storage.k8s.io/v1'],
  ])('%s of %s is no misspelt kind', async (kind, apiVersion) => {
    const text = `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: x}\n`;
    const ran = await simulate([folderOf({ 'x.yaml': text })], { strict: true });
    expect(ran.err).toContain(`note: these kinds play no part in planning: ${kind} (1)\n`);
    expect(ran.err).not.toContain('did you mean');
  });
});

/** Maps whose keys users choose. */
const free = new Set(['labels', 'annotations', 'matchLabels', 'nodeSelector', 'tags']);

/** The world once for each key that has a meaning, with a letter of that key left out. */
function misspelt(
  value: unknown,
  path: string,
  rebuilt: (value: unknown) => object,
): readonly (readonly [path: string, key: string, world: object])[] {
  if (typeof value !== 'object' || value === null) return [];
  const list = Array.isArray(value);
  return Object.entries(value).flatMap(([key, inner]) => {
    const rebuiltHere = (changed: unknown): object =>
      rebuilt(list ? value.with(Number(key), changed) : { ...(value as object), [key]: changed });
    const at = `${path}.${key}`;
    const below = free.has(key) ? [] : misspelt(inner, at, rebuiltHere);
    if (list) return below;
    const middle = Math.floor(key.length / 2);
    const wrong = `${key.slice(0, middle)}${key.slice(middle + 1)}`;
    const { [key]: moved, ...rest } = value as Record<string, unknown>;
    return [[at, wrong, rebuilt({ ...rest, [wrong]: moved })] as const, ...below];
  });
}

describe('of a valid world', () => {
  test('nothing is said', async () => {
    const folder = folderOf({ 'world.json': JSON.stringify(validWorld) });
    expect(await simulate([folder], { strict: true })).toMatchObject({ code: 0, err: '' });
  });

  test.each(validWorld.map((object, index) => [object.kind, object, index] as const))(
    'each key of the %s is missed by somebody if a letter is left out',
    async (kind, object, index) => {
      const unsaid: string[] = [];
      const worldWith = (changed: unknown): object => validWorld.with(index, changed as never);
      for (const [path, wrong, world] of misspelt(object, kind, worldWith)) {
        const { err } = await simulate([folderOf({ 'world.json': JSON.stringify(world) })]);
        if (!err.includes(wrong) && !/\(absent\) cannot be used/.test(err)) unsaid.push(path);
      }
      expect(unsaid).toEqual([]);
    },
  );
});
