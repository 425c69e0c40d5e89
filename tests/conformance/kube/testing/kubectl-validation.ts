import { expect, test } from 'vitest';

import { describeWithKubectl } from './kubectl.js';
import { type Context, eventually } from './suite.js';

const list = (...items: readonly object[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items });

const configMap = (fields: object): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'in-a-list' },
  ...fields,
});

const limitRange = (spec: object): object => ({
  apiVersion: 'v1',
  kind: 'LimitRange',
  metadata: { name: 'in-a-list' },
  spec,
});

const crd = (group: string): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `wheels.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind: 'Wheel', plural: 'wheels' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  spokes: { type: 'integer' },
                  width: { 'x-kubernetes-int-or-string': true },
                  free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
            },
          },
        },
      },
    ],
  },
});

const wheel = (group: string, spec: object): object => ({
  apiVersion: `${group}/v1`,
  kind: 'Wheel',
  metadata: { name: 'front' },
  spec,
});

/** The kinds that can be created, as `kubectl api-resources` shows them in its last columns. */
async function createdKinds({ world }: Context): Promise<readonly (readonly [string, string])[]> {
  const { out } = await world().kubectl(['api-resources', '--no-headers', '--verbs=create,list']);
  return out
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map((columns) => [columns.at(-3) ?? '', columns.at(-1) ?? ''] as const);
}

function builtinLists(context: Context): void {
  test('apply of a kind: List creates its items, and a second one leaves them unchanged', async () => {
    const own = await context.namespace();
    const text = list(
      configMap({ data: { a: '1' } }),
      limitRange({ limits: [{ type: 'Container', default: { cpu: 1, memory: '1Gi' } }] }),
    );
    const apply = () => context.world().kubectl(['-n', own, 'apply', '-f', '-'], text);
    expect(await apply()).toEqual({
      code: 0,
      out: 'configmap/in-a-list created\nlimitrange/in-a-list created\n',
    });
    expect((await apply()).out).toContain('configmap/in-a-list unchanged\n');
  });

  test('apply of a kind: List names the unknown fields of every item and creates none', async () => {
    const own = await context.namespace();
    const { kubectl } = context.world();
    const { code, out } = await kubectl(
      ['-n', own, 'apply', '-f', '-'],
      list(configMap({ daata: {} }), limitRange({ limits: [{ type: 'Container', foo: 1 }] })),
    );
    expect(out).toContain('unknown field "daata"');
    expect(out).toContain('unknown field "foo"');
    expect(code).toBe(1);
    expect((await kubectl(['-n', own, 'get', 'configmap', 'in-a-list'])).out).toContain('NotFound');
  });

  test('every kind that can be created is checked within a kind: List', async () => {
    const kinds = await createdKinds(context);
    const items = kinds.map(([apiVersion, kind]) => ({
      apiVersion,
      kind,
      metadata: { name: 'any', nonsense: 1 },
    }));
    const { out } = await context
      .world()
      .kubectl(['create', '--dry-run=client', '-f', '-'], list(...items));
    const unchecked = kinds.filter(
      ([, kind]) => !out.includes(`ValidationError(${kind}.metadata): unknown field "nonsense"`),
    );
    expect(kinds.length).toBeGreaterThan(25);
    expect(unchecked).toEqual([]);
  });
}

function customLists({ world, namespace }: Context): void {
  test('apply of a kind: List checks custom objects by the schema of their definition', async () => {
    const own = await namespace();
    const { kubectl } = world();
    const group = `${own}.example.com`;
    await kubectl(['apply', '-f', '-'], JSON.stringify(crd(group)));
    await kubectl(['wait', '--for=condition=Established', `crd/wheels.${group}`]);
    const apply = (spec: object) =>
      kubectl(['-n', own, 'apply', '-f', '-'], list(wheel(group, spec)));
    const right = { spokes: 32, width: '4cm', free: { any: { thing: 1 } } };
    expect(await apply(right)).toEqual({ code: 0, out: `wheel.${group}/front created\n` });
    // The API server publishes the schema of a new definition some time after it serves it.
    const wrong = await eventually(
      () => apply({ ...right, spoke: 32 }),
      ({ code }) => code === 1,
    );
    expect(wrong.out).toContain('unknown field "spoke"');
    expect(wrong.code).toBe(1);
    expect((await apply({ ...right, spokes: 'many' })).out).toContain('invalid type for');
  });
}

/** kubectl's own validation, on by default, of whole lists. */
export function kubectlValidation(context: Context): void {
  describeWithKubectl('kubectl validates', () => {
    builtinLists(context);
    customLists(context);
  });
}
