import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { helmFor, type Rendered, rendererOf, theOne } from '@dovetail/test-support/chart';
import { ranCommand } from '@dovetail/test-support/command';
import { isUnavailable, obtainNatsServer, run } from '@dovetail/testbed';
import { describe, expect, test } from 'vitest';

/** The NATS servers that the chart can bring, as a real Helm renders them. */
const helm = await helmFor('the NATS servers of the chart');
const render = rendererOf(helm);
const nats = await obtainNatsServer();
const made = ['nats.url=', 'nats.insecure=false', 'nats.server.enabled=true'];
const own = [...made, 'nats.server.usersSecret=nats-users', 'nats.credentialsSecret=nats'];

type Config = Rendered & { readonly data: Readonly<Record<string, string>> };
const services = ['pod-watcher', 'solver', 'launcher', 'reaper'] as const;

const root = join(import.meta.dirname, '..', '..');

type Requests = Readonly<Record<'cpu' | 'memory', string>>;
type Workload = Rendered & {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly resources: { readonly requests: Requests } }[];
      };
    };
  };
};
/** `100m` is 0.1, and `256Mi` is 256. */
const amountOf = (text: string): number =>
  Number.parseFloat(text) * (text.endsWith('m') ? 0.001 : 1);

type Deployment = Rendered & {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly env: unknown }[];
        readonly volumes: readonly unknown[];
      };
    };
  };
};

(helm === undefined ? describe.skip : describe)('the NATS servers of the chart', () => {
  test('are left out unless they are asked for', async () => {
    expect((await render()).map(({ kind }) => kind)).not.toContain('StatefulSet');
  });

  test.each([
    ['beside an address', ['nats.url=nats://nats:4222'], 'both say which NATS to use'],
    ['with copies of their own', ['nats.replicas=3'], 'nats.replicas is for the NATS of nats.url'],
    ['in twos', ['nats.server.replicas=2'], "'/nats/server/replicas'"],
    ['without TLS', ['nats.server.tls.enabled=false'], 'nats.server.tls is off'],
    ['without keys', ['nats.credentialsSecret='], 'solver has no credentials for NATS'],
  ])('are refused %s', (_case, values, message) =>
    expect(render(...own, ...values)).rejects.toThrow(message),
  );

  test('stand on no node that Dovetail makes, as no pod of the chart does', async () => {
    const objects = await render(...own, 'services.solver.autoscaling.kind=none');
    const workloads = objects.filter(({ kind }) => /^(Deployment|StatefulSet|Job)$/.test(kind));
    expect(workloads).toHaveLength(7);
    const made = ['karpenter.sh/nodepool', 'karpenter.sh/provisioner-name'];
    for (const workload of workloads)
      expect(workload).toMatchObject({
        spec: {
          template: {
            spec: {
              affinity: {
                nodeAffinity: {
                  requiredDuringSchedulingIgnoredDuringExecution: {
                    nodeSelectorTerms: [
                      { matchExpressions: made.map((key) => ({ key, operator: 'DoesNotExist' })) },
                    ],
                  },
                },
              },
            },
          },
        },
      });
  });

  test('are those that every service speaks to, by TLS, and each stream is on all of them', async () => {
    const objects = await render(...own);
    expect(theOne(objects, 'StatefulSet', '-nats')).toMatchObject({
      spec: { serviceName: 'dovetail-nats-peers', replicas: 3, podManagementPolicy: 'Parallel' },
    });
    expect(theOne(objects, 'Service', '-nats').metadata.name).toBe('dovetail-nats');
    for (const service of services)
      expect(
        theOne<Deployment>(objects, 'Deployment', service).spec.template.spec.containers[0]?.env,
      ).toEqual(
        expect.arrayContaining([
          { name: 'NATS_URL', value: 'tls://dovetail-nats.dovetail.svc:4222' },
          { name: 'NATS_CA', value: '/etc/nats-ca/ca.crt' },
          { name: 'NATS_REPLICAS', value: '3' },
        ]),
      );
  });

  test('may be one server without TLS, whose service has the plain address', async () => {
    const objects = await render(...own, 'nats.server.replicas=1', 'nats.server.tls.enabled=false');
    expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    const { env } = theOne<Deployment>(objects, 'Deployment', '-solver').spec.template.spec
      .containers[0] as { env: readonly { name: string }[] };
    expect(env).toContainEqual({
      name: 'NATS_URL',
      value: 'nats://dovetail-nats.dovetail.svc:4222',
    });
    expect(env.map(({ name }) => name)).not.toContain('NATS_CA');
    expect(theOne<Config>(objects, 'ConfigMap', '-nats').data['nats.conf']).not.toContain('tls');
  });

  test('and the services ask for as much room as the guide says', async () => {
    const pods = (await render(...own))
      .filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
      .map((object) => (object as Workload).spec);
    const sum = (name: 'cpu' | 'memory'): number =>
      pods
        .flatMap(({ replicas, template }) =>
          template.spec.containers.map(
            ({ resources }) => replicas * amountOf(resources.requests[name]),
          ),
        )
        .reduce((one, other) => one + other, 0);
    const guide = await readFile(join(root, 'docs/guides/deploy.md'), 'utf8');
    expect(guide).toContain(
      `add up to ${sum('cpu').toFixed(1)} CPU and ${(sum('memory') / 1024).toFixed(1)} GiB.`,
    );
  });

  test('take the certificate of a Secret that is there', async () => {
    const objects = await render(...own, 'nats.server.tls.secret=mine');
    expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    const secretName = 'mine';
    for (const [kind, name] of [
      ['StatefulSet', '-nats'],
      ['Deployment', '-solver'],
    ] as const)
      expect(theOne<Deployment>(objects, kind, name).spec.template.spec.volumes).toContainEqual(
        expect.objectContaining({ secret: expect.objectContaining({ secretName }) }),
      );
  });

  test('are asked by KEDA without being named', async () => {
    const objects = await render(...own, 'services.solver.autoscaling.kind=keda');
    expect(theOne(objects, 'ScaledObject', '-solver')).toMatchObject({
      spec: {
        triggers: [
          { metadata: { natsServerMonitoringEndpoint: 'dovetail-nats-peers.dovetail.svc:8222' } },
        ],
      },
    });
  });

  test('are reached by the pods of the release alone, and by each other', async () => {
    const labels = {
      'app.kubernetes.io/instance': 'dovetail',
      'app.kubernetes.io/name': 'dovetail',
    };
    const peers = { ...labels, 'app.kubernetes.io/component': 'nats' };
    expect(theOne(await render(...own), 'NetworkPolicy', '-nats')).toMatchObject({
      spec: {
        podSelector: { matchLabels: peers },
        ingress: [
          { ports: [{ port: 'nats' }], from: [{ podSelector: { matchLabels: labels } }] },
          { ports: [{ port: 'cluster' }], from: [{ podSelector: { matchLabels: peers } }] },
          { ports: [{ port: 'monitoring' }], from: [{ podSelector: { matchLabels: labels } }] },
        ],
      },
    });
  });

  test('are reached by further pods, if they are named', async () => {
    const rules = ['namespaceSelector.matchLabels.team=watchers', 'ipBlock.cidr=10.0.0.0/16'];
    const from = [
      ...rules.map((rule, index) => `nats.server.allowFrom[${String(index)}].${rule}`),
      'nats.server.monitoringFrom[0].namespaceSelector.matchLabels.team=keda',
    ];
    expect(theOne(await render(...own, ...from), 'NetworkPolicy', '-nats')).toMatchObject({
      spec: {
        ingress: [
          {
            ports: [{ port: 'nats' }],
            from: [
              { podSelector: {} },
              { namespaceSelector: { matchLabels: { team: 'watchers' } } },
              { ipBlock: { cidr: '10.0.0.0/16' } },
            ],
          },
          { ports: [{ port: 'cluster' }], from: [{}] },
          {
            ports: [{ port: 'monitoring' }],
            from: [{ podSelector: {} }, { namespaceSelector: { matchLabels: { team: 'keda' } } }],
          },
        ],
      },
    });
  });

  test.each([
    ['common.hostNetwork=true', 'services.podWatcher, services.reaper'],
    ['services.reaper.hostNetwork=true', 'services.reaper'],
    [
      'sinks.enabled=true,sinks.hostNetwork=true,sinks.list[0].name=a,sinks.list[0].kind=webhook,sinks.list[0].url=https://a',
      'sinks',
    ],
  ])('are reached by pods in the network of the host: %s', async (value, who) => {
    const ports = ['launcher', 'solver'].map((name) => `services.${name}.hostNetwork=false`);
    const host = [...own, ...value.split(','), ...ports, 'services.podWatcher.port=8081'];
    type Ingress = {
      readonly ports: readonly { readonly port: string }[];
      readonly from?: unknown;
    };
    const policy = async (...values: readonly string[]): Promise<readonly Ingress[]> => {
      const found = theOne(await render(...values), 'NetworkPolicy', '-nats');
      return (found as unknown as { readonly spec: { readonly ingress: Ingress[] } }).spec.ingress;
    };
    expect((await policy(...host))[0]).toEqual({ ports: [{ port: 'nats', protocol: 'TCP' }] });
    const nodes = 'nats.server.allowFrom[0].ipBlock.cidr=10.0.0.0/16';
    expect((await policy(...host, nodes))[0]?.from).toHaveLength(2);
    const pods = 'nats.server.allowFrom[0].podSelector.matchLabels.app=watcher';
    await expect(render(...host, pods)).rejects.toThrow(
      `pods of ${who} are in the network of the host, and nats.server.allowFrom names no address`,
    );
  });

  (isUnavailable(nats) ? test.skip : test)(
    'has a configuration that a real server accepts, with the users of `dovetail nats-users`',
    async () => {
      if (isUnavailable(nats)) throw new Error(nats.unavailable);
      const folder = await mkdtemp(join(tmpdir(), 'dovetail-nats-'));
      const args = ['nats-users', '--cluster', 'lab', '--out', folder];
      expect(await ranCommand({ name: 'cli', folder, args })).toMatchObject({ code: 0 });
      const objects = await render(...own);
      const { data } = theOne<Config>(objects, 'ConfigMap', '-nats');
      const tls = theOne<Config>(objects, 'Secret', '-nats-tls');
      for (const [key, text] of Object.entries(tls.data))
        await writeFile(join(folder, key), Buffer.from(text, 'base64'));
      const file = join(folder, 'nats.conf');
      await writeFile(file, data['nats.conf']?.replaceAll('/etc/nats-tls', folder) ?? '');
      const checked = await run(nats.path, ['-t', '--config', file], {
        env: { SERVER_NAME: 'dovetail-nats-0' },
        deadlineMs: 30_000,
        remedy: 'read its output',
      });
      expect(checked.stderr + checked.stdout).toMatch(/is valid/);
      await rm(folder, { recursive: true });
    },
  );
});

(helm === undefined ? describe.skip : describe)('the keys of the bus', () => {
  const job = (objects: readonly Rendered[]): readonly string[] =>
    objects
      .filter(({ kind, metadata }) => kind === 'Job' && metadata.name.endsWith('-keys'))
      .map(({ metadata }) => metadata.annotations?.['helm.sh/hook'] ?? '');

  test.each(services)('%s without one is refused, and an open NATS only if said', async (name) => {
    const block = name === 'pod-watcher' ? 'podWatcher' : name;
    const others = services.filter((each) => each !== name);
    const values = [
      'nats.streams.natsCredentialsSecret=streams',
      ...others.map(
        (each) =>
          `services.${each === 'pod-watcher' ? 'podWatcher' : each}.natsCredentialsSecret=${each}`,
      ),
    ];
    await expect(render(...values, 'nats.insecure=false')).rejects.toThrow(
      `${name} has no credentials for NATS`,
    );
    await render(...values, 'nats.insecure=false', `services.${block}.natsCredentialsSecret=own`);
    await render('nats.insecure=true');
    await render('nats.insecure=false', 'nats.tls.clientSecret=nats-client');
  });

  test.each([
    ['for servers of the chart', made],
    ['for a NATS of your own, if asked', ['nats.insecure=false', 'nats.createKeys=true']],
  ])('are made %s before each installation and upgrade', async (_for, values) => {
    const objects = await render(...values);
    expect(job(objects)).toEqual(['pre-install,pre-upgrade']);
    for (const service of services)
      expect(
        theOne<Deployment>(objects, 'Deployment', service).spec.template.spec.volumes,
      ).toContainEqual({ name: 'nats', secret: { secretName: `dovetail-nats-${service}` } });
  });

  test('are not made beside users and credentials of your own', async () => {
    expect(job(await render(...own))).toEqual([]);
    expect(job(await render())).toEqual([]);
  });

  test('are made by an account that may only read and write their Secrets', async () => {
    const [role, ...others] = (await render(...made)).filter(
      ({ kind, metadata }) => /Role$/.test(kind) && metadata.name.endsWith('-keys'),
    );
    expect(others).toEqual([]);
    const names = [
      'pod-watcher',
      'solver',
      'launcher',
      'reaper',
      'reader',
      'console',
      'sinks',
      'streams',
      'users',
    ];
    expect(role).toMatchObject({
      kind: 'Role',
      metadata: { namespace: 'dovetail' },
      rules: [
        {
          apiGroups: [''],
          resources: ['secrets'],
          resourceNames: names.map((name) => `dovetail-nats-${name}`),
          verbs: ['get', 'create', 'patch'],
        },
      ],
    });
  });
});
