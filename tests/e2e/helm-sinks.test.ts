import { helmFor, type Rendered, rendererOf, theOne } from '@dovetail/test-support/chart';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

/** The sinks of the chart, as a real Helm renders them. */
const helm = await helmFor('the sinks of the chart');
const render = rendererOf(helm);
const on = [
  'sinks.enabled=true',
  'sinks.list[0].name=audit',
  'sinks.list[0].webhook.url=https://audit.example.com/',
] as const;

type Deployment = Rendered & {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly env: readonly { readonly name: string; readonly value?: string }[];
          readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
        }[];
      };
    };
  };
};

const named = (objects: readonly Rendered[]): readonly string[] =>
  objects
    .filter(({ metadata }) => metadata.name.includes('sinks'))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .toSorted();
const fileOf = (objects: readonly Rendered[]): string =>
  theOne<Rendered & { readonly data: Readonly<Record<string, string>> }>(
    objects,
    'ConfigMap',
    '-sinks',
  ).data['sinks.yaml'] ?? '';

(helm === undefined ? describe.skip : describe)('the sinks of the chart', () => {
  test('are off by default', async () => expect(named(await render())).toEqual([]));

  test('have no rights in Kubernetes, and no token', async () => {
    const objects = await render(...on);
    expect(named(objects)).toEqual([
      'ConfigMap dovetail-sinks',
      'Deployment dovetail-sinks',
      'NetworkPolicy dovetail-sinks',
      'PodDisruptionBudget dovetail-sinks',
      'Service dovetail-sinks',
      'ServiceAccount dovetail-sinks',
    ]);
    const { spec } = theOne<Deployment>(objects, 'Deployment', '-sinks');
    expect(spec.replicas).toBe(1);
    expect(spec.template.spec.automountServiceAccountToken).toBe(false);
    const [container] = spec.template.spec.containers;
    expect(container?.args).toEqual(['--max-old-space-size=160', '/app/sinks.js']);
    expect(container?.env).toContainEqual({
      name: 'SINKS_FILE',
      value: '/etc/dovetail-sinks/sinks.yaml',
    });
    expect(container?.volumeMounts).toContainEqual(
      expect.objectContaining({ name: 'sinks', mountPath: '/etc/dovetail-sinks' }),
    );
    const names = container?.env.map(({ name }) => name) ?? [];
    expect(names.filter((name) => /^(AWS|LEASE|KUBE|PAGE)/.test(name))).toEqual([]);
  });

  test('read the list of the values', async () =>
    expect(parse(fileOf(await render(...on)))).toEqual({
      sinks: [{ name: 'audit', webhook: { url: 'https://audit.example.com/' } }],
    }));

  test('start anew with another list', async () => {
    const markOf = async (...values: readonly string[]): Promise<string | undefined> =>
      theOne<Deployment>(await render(...on, ...values), 'Deployment', '-sinks').spec.template
        .metadata.annotations['dovetail.sh/sinks'];
    expect(await markOf()).toMatch(/^[0-9a-f]{64}$/);
    expect(await markOf()).toBe(await markOf());
    expect(await markOf('sinks.list[0].from=first')).not.toBe(await markOf());
  });

  test('go out everywhere, or to NATS and to the receivers that the values name', async () => {
    expect(theOne(await render(...on), 'NetworkPolicy', '-sinks')).toMatchObject({
      spec: { policyTypes: ['Ingress'] },
    });
    const to = 'sinks.allowTo[0].ipBlock.cidr=10.0.0.0/8';
    expect(theOne(await render(...on, to), 'NetworkPolicy', '-sinks')).toMatchObject({
      spec: {
        policyTypes: ['Ingress', 'Egress'],
        egress: [
          { to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] },
          { ports: [{ port: 4_222, protocol: 'TCP' }] },
          {},
        ],
      },
    });
  });

  test('have a key of their own on NATS, and a level of their log', async () => {
    const objects = await render(...on, 'nats.createKeys=true', 'sinks.env.LOG_LEVEL=debug');
    expect(theOne<Deployment>(objects, 'Deployment', '-sinks').spec.template.spec).toMatchObject({
      volumes: expect.arrayContaining([
        { name: 'nats', secret: { secretName: 'dovetail-nats-sinks' } },
      ]) as unknown,
    });
    expect(theOne(objects, 'ConfigMap', '-logging')).toMatchObject({ data: { sinks: 'debug' } });
  });

  test.each([
    [['sinks.enabled=true'], 'sinks.list is empty: give at least one sink'],
    [[...on, 'sinks.lists=x'], "'/sinks': additional properties 'lists' not allowed"],
    [[...on, 'sinks.env.SINKS=x'], 'set the value sinks.list of the chart instead'],
    [[...on, 'sinks.env.PAGES_MAX=1'], 'sinks.env has PAGES_MAX, which sinks does not read'],
    [[...on, 'sinks.resources.limits.memory=200Mi'], 'heapMiB is 160: the process needs 260Mi'],
  ])('%j is refused by its name', (values, message) =>
    expect(render(...values)).rejects.toThrow(message),
  );
});
