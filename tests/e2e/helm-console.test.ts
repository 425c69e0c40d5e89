import { helmFor, type Rendered, rendererOf, theOne } from '@dovetail/test-support/chart';
import { describe, expect, test } from 'vitest';

/** The console of the chart, as a real Helm renders it. */
const helm = await helmFor('the console of the chart');
const render = rendererOf(helm);
const on = 'console.enabled=true';

type Deployment = Rendered & {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly automountServiceAccountToken: boolean;
        readonly priorityClassName?: string;
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly ports: readonly object[];
          readonly env: readonly { readonly name: string; readonly value?: string }[];
        }[];
      };
    };
  };
};

const named = (objects: readonly Rendered[]): readonly string[] =>
  objects
    .filter(({ metadata }) => metadata.name.includes('console'))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .toSorted();

(helm === undefined ? describe.skip : describe)('the console of the chart', () => {
  test('is off by default', async () => expect(named(await render())).toEqual([]));

  test('is a page without rights in Kubernetes, and without its token', async () => {
    const objects = await render(on);
    expect(named(objects)).toEqual([
      'Deployment dovetail-console',
      'NetworkPolicy dovetail-console',
      'PodDisruptionBudget dovetail-console',
      'Service dovetail-console',
      'Service dovetail-console-page',
      'ServiceAccount dovetail-console',
    ]);
    const { spec } = theOne<Deployment>(objects, 'Deployment', '-console');
    expect(spec.replicas).toBe(1);
    expect(spec.template.spec.automountServiceAccountToken).toBe(false);
    expect(spec.template.spec).not.toHaveProperty('priorityClassName');
    const [container] = spec.template.spec.containers;
    expect(container?.args).toEqual(['--max-old-space-size=256', '/app/console.js']);
    expect(container?.ports).toEqual([
      { name: 'http', containerPort: 8_080 },
      { name: 'page', containerPort: 8_090 },
    ]);
    const names = container?.env.map(({ name }) => name) ?? [];
    expect(names).toContain('PAGE_PORT');
    expect(names.filter((name) => /^(AWS|LEASE|KUBE)/.test(name))).toEqual([]);
  });

  test('has a Service for the page, beside the one for its metrics', async () =>
    expect(theOne(await render(on), 'Service', '-console-page')).toMatchObject({
      spec: { ports: [{ port: 80, targetPort: 'page' }] },
    }));

  test('lets in probes and metrics alone, and goes out to NATS alone', async () =>
    expect(theOne(await render(on), 'NetworkPolicy', '-console')).toMatchObject({
      spec: {
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ ports: [{ port: 'http', protocol: 'TCP' }] }],
        egress: [{ ports: [{ port: 4_222, protocol: 'TCP' }] }, {}],
      },
    }));

  test('answers under the names of its Service, and those of the values', async () => {
    const { spec } = theOne<Deployment>(
      await render(on, 'console.hosts[0]=console.example.com'),
      'Deployment',
      '-console',
    ).spec.template;
    const inside = 'dovetail-console-page.dovetail';
    expect(spec.containers[0]?.env).toContainEqual({
      name: 'PAGE_HOSTS',
      value: `dovetail-console-page,${inside},${inside}.svc,${inside}.svc.cluster.local,console.example.com`,
    });
    await expect(render(on, 'console.hosts[0]=https://a')).rejects.toThrow('hosts');
  });

  test('opens the page to the pods that the values name', async () => {
    const from = 'console.allowFrom[0].podSelector.matchLabels.app=proxy';
    expect(theOne(await render(on, from), 'NetworkPolicy', '-console')).toMatchObject({
      spec: {
        ingress: [
          { ports: [{ port: 'http' }], from: [{ podSelector: {} }] },
          { ports: [{ port: 'page' }], from: [{ podSelector: { matchLabels: { app: 'proxy' } } }] },
        ],
      },
    });
  });

  test('has a key of its own on NATS, and a level of its log', async () => {
    const objects = await render(on, 'nats.createKeys=true', 'console.env.LOG_LEVEL=debug');
    expect(theOne<Deployment>(objects, 'Deployment', '-console').spec.template.spec).toMatchObject({
      volumes: expect.arrayContaining([
        { name: 'nats', secret: { secretName: 'dovetail-nats-console' } },
      ]) as unknown,
    });
    expect(theOne(objects, 'ConfigMap', '-logging')).toMatchObject({ data: { console: 'debug' } });
  });

  test.each([
    [[on, 'console.pagePort=0'], "'/console/pagePort': minimum: got 0, want 1"],
    [[on, 'console.enable=true'], "'/console': additional properties 'enable' not allowed"],
    [[on, 'console.env.PAGE_PORT=1'], 'set the value console.pagePort of the chart instead'],
    [[on, 'console.env.KUBECONFIG=x'], 'console.env has KUBECONFIG, which console does not read'],
    [[on, 'console.env.PAGES_MAX=0'], 'console.env has PAGES_MAX=0, which no service takes'],
    [[on, 'console.resources.limits.memory=256Mi'], 'heapMiB is 256: the process needs 356Mi'],
  ])('%j is refused by its name', (values, message) =>
    expect(render(...values)).rejects.toThrow(message),
  );
});
