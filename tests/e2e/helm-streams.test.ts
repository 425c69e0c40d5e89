import { helmFor, type Rendered, rendererOf, theOne } from '@dovetail/test-support/chart';
import { describe, expect, test } from 'vitest';

/** The pod that makes the streams, as a real Helm renders it. */
const helm = await helmFor('the maker of the streams');
const render = rendererOf(helm);
const made = ['nats.url=', 'nats.insecure=false', 'nats.server.enabled=true'];
const services = ['pod-watcher', 'solver', 'launcher', 'reaper'] as const;

type Deployment = Rendered & {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly env: readonly unknown[];
          readonly args: readonly string[];
        }[];
      };
    };
  };
};

(helm === undefined ? describe.skip : describe)('the maker of the streams', () => {
  const maker = async (...values: readonly string[]): Promise<Deployment | undefined> =>
    (await render(...values)).find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'dovetail-streams',
    ) as Deployment | undefined;

  test('runs by its own key, without a token, and talks to NATS alone', async () => {
    const { spec } = (await maker(...made))?.spec.template ?? {};
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      volumes: [{ name: 'nats', secret: { secretName: 'dovetail-nats-streams' } }, {}],
      containers: [{ args: ['--max-old-space-size=64', '/app/cli.js', 'nats-streams', '--keep'] }],
    });
    expect(spec?.containers[0]?.env).toContainEqual({ name: 'NATS_REPLICAS', value: '3' });
    expect(theOne(await render(...made), 'NetworkPolicy', '-streams')).toMatchObject({
      spec: {
        policyTypes: ['Ingress', 'Egress'],
        egress: [
          {
            ports: [{ port: 4_222 }],
            to: [{ podSelector: { matchLabels: { 'app.kubernetes.io/component': 'nats' } } }],
          },
          {},
        ],
      },
    });
  });

  test('makes the stream of dead letters where there are sinks', async () => {
    const sink = 'sinks.list[0].name=a,sinks.list[0].webhook.url=https://a';
    const found = await maker(...made, 'sinks.enabled=true', ...sink.split(','));
    expect(found?.spec.template.spec.containers[0]?.args).toContain('--sinks');
  });

  test('is left out where services make the streams, or where you do', async () => {
    expect(await maker('nats.insecure=true')).toBeUndefined();
    expect(await maker('nats.insecure=false', 'nats.tls.clientSecret=a')).toBeUndefined();
    expect(await maker(...made, 'nats.streams.enabled=false')).toBeUndefined();
  });

  test('is missed where each service has a key and it has none', async () => {
    const keys = services.map(
      (each) =>
        `services.${each === 'pod-watcher' ? 'podWatcher' : each}.natsCredentialsSecret=${each}`,
    );
    await expect(render(...keys, 'nats.insecure=false')).rejects.toThrow(
      'nats.streams has no credentials for NATS',
    );
    await render(...keys, 'nats.insecure=false', 'nats.streams.enabled=false');
  });
});
