import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { helmFor, type Rendered, rendererOf, theOne } from '@dovetail/test-support/chart';
import { ranCommand } from '@dovetail/test-support/command';
import { isUnavailable, obtainNatsServer, run } from '@dovetail/testbed';
import { describe, expect, test } from 'vitest';

/** The NATS server that the chart can bring, as a real Helm renders it. */
const helm = await helmFor('the NATS server of the chart');
const render = rendererOf(helm);
const nats = await obtainNatsServer();
const own = ['nats.url=', 'nats.server.enabled=true', 'nats.server.usersSecret=nats-users'];

type Config = Rendered & { readonly data: Readonly<Record<string, string>> };
type Deployment = Rendered & {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { env: unknown }[] } };
  };
};

(helm === undefined ? describe.skip : describe)('the NATS server of the chart', () => {
  test('is left out unless it is asked for', async () => {
    expect((await render()).map(({ kind }) => kind)).not.toContain('StatefulSet');
  });

  test.each([
    ['without users', ['nats.server.usersSecret='], 'usersSecret is empty: name a Secret'],
    ['beside an address', ['nats.url=nats://nats:4222'], 'both say which NATS to use'],
    ['for streams of three copies', ['nats.replicas=3'], 'nats.server is one server'],
  ])('is refused %s', (_case, values, message) =>
    expect(render(...own, ...values)).rejects.toThrow(message),
  );

  test('stands on no node that Dovetail makes, as no pod of the chart does', async () => {
    const objects = await render(...own, 'services.solver.autoscaling.kind=none');
    const workloads = objects.filter(({ kind }) => /^(Deployment|StatefulSet|Job)$/.test(kind));
    expect(workloads).toHaveLength(6);
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

  test('is the one that every service speaks to', async () => {
    const objects = await render(...own);
    expect(theOne(objects, 'StatefulSet', '-nats')).toMatchObject({
      spec: { serviceName: 'dovetail-nats' },
    });
    expect(theOne(objects, 'Service', '-nats').metadata.name).toBe('dovetail-nats');
    for (const service of ['pod-watcher', 'solver', 'launcher', 'reaper'])
      expect(
        theOne<Deployment>(objects, 'Deployment', service).spec.template.spec.containers[0]?.env,
      ).toContainEqual({ name: 'NATS_URL', value: 'nats://dovetail-nats.dovetail.svc:4222' });
  });

  (isUnavailable(nats) ? test.skip : test)(
    'has a configuration that a real server accepts, with the users of `dovetail nats-users`',
    async () => {
      if (isUnavailable(nats)) throw new Error(nats.unavailable);
      const folder = await mkdtemp(join(tmpdir(), 'dovetail-nats-'));
      const args = ['nats-users', '--cluster', 'lab', '--out', folder];
      expect(await ranCommand({ name: 'cli', folder, args })).toMatchObject({ code: 0 });
      const { data } = theOne<Config>(await render(...own), 'ConfigMap', '-nats');
      const file = join(folder, 'nats.conf');
      await writeFile(file, data['nats.conf'] ?? '');
      const checked = await run(nats.path, ['-t', '--config', file], {
        deadlineMs: 30_000,
        remedy: 'read its output',
      });
      expect(checked.stderr + checked.stdout).toMatch(/is valid/);
      await rm(folder, { recursive: true });
    },
  );
});
