import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { type KubeApi, type KubeObject, kubeResources } from '@dovetail/core-ports';
import { chartDirs } from '@dovetail/test-support/chart';
import type { Rule } from '@dovetail/test-support/chart-roles';
import { realParts } from '@dovetail/test-support/real-parts';
import {
  obtainControlPlane,
  obtainHelm,
  obtainKubectl,
  run,
  type RunningControlPlane,
  serviceHeapMiB,
  startControlPlane,
} from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { neighbours, rightsOf, type Service, services } from './helm-rights.js';

/**
 * The chart, installed by a real Helm on a real API server. Nothing runs there; the test looks at
 * the objects and their rights.
 */
const chart = chartDirs.dovetail;

const parts = await realParts('the Helm chart on a real API server', {
  helm: () => obtainHelm(),
  kubectl: () => obtainKubectl(),
  plane: () => obtainControlPlane(),
});

const settings = [
  'cluster.name=lab',
  'cluster.region=us-west-2',
  'nats.url=nats://nats.nats:4222',
  'nats.insecure=true',
  'interruptionQueue=lab',
];

const flags = (more: readonly string[] = []): readonly string[] =>
  [...settings, ...more].flatMap((value) => ['--set', value]);

const accessReviews = {
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
} as const;

const clusterRoles = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
} as const;

const deploymentResource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
} as const;

type Deployment = KubeObject & {
  spec: {
    replicas: number;
    template: {
      spec: {
        serviceAccountName: string;
        containers: { args: string[]; env: { name: string; value?: string }[]; image: string }[];
      };
    };
  };
};

describe.skipIf(parts === undefined)('the Helm chart on a real API server', () => {
  let dir: string;
  let plane: RunningControlPlane;
  let kube: KubeApi;
  const tool = async (name: 'helm' | 'kubectl', args: readonly string[]): Promise<string> => {
    const found = parts?.[name];
    if (found === undefined) throw new Error(`no ${name}`);
    const output = await run(found.path, args, {
      deadlineMs: 90_000,
      remedy: 'read its output',
      env: {
        KUBECONFIG: plane.kubeconfig,
        HELM_CACHE_HOME: dir,
        HELM_CONFIG_HOME: dir,
        HELM_DATA_HOME: dir,
      },
    });
    return output.stdout;
  };
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dovetail-helm-'));
    if (parts === undefined) throw new Error('no control plane');
    plane = await startControlPlane({ paths: parts.plane.paths, dir, clusterName: 'lab' });
    const quiet = (): undefined => undefined;
    kube = connectKubernetes({
      kubeconfigPath: plane.kubeconfig,
      log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    });
    await tool('helm', [
      'install',
      'dovetail',
      chart,
      '--namespace',
      'dovetail',
      '--create-namespace',
      ...flags(),
    ]);
  });
  afterAll(async () => {
    await plane?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  /**
   * Whether the service's account may do it everywhere (or in the namespace, to the named object),
   * by the API server's own authoriser.
   */
  const may = async (
    service: Service,
    what: string,
    options: {
      readonly release?: string;
      readonly namespace?: string;
      readonly name?: string;
    } = {},
  ): Promise<boolean> => {
    const [verb = '', target = ''] = what.split(' ');
    const [full = '', subresource = ''] = target.split('/');
    const [resource = '', ...group] = full.split('.');
    const { release = 'dovetail', namespace = '', name = '' } = options;
    const spec = {
      user: `system:serviceaccount:dovetail:${release}-${service}`,
      groups: ['system:serviceaccounts', 'system:authenticated'],
      resourceAttributes: { verb, group: group.join('.'), resource, subresource, namespace, name },
    };
    const review = await kube.create(accessReviews, { metadata: { name: '' }, spec });
    return (review['status'] as { allowed: boolean }).allowed;
  };
  const granted = async (
    service: Service,
    asked: readonly string[],
    release?: string,
  ): Promise<readonly string[]> => {
    const answers = await Promise.all(
      asked.map((what) => may(service, what, release === undefined ? {} : { release })),
    );
    return asked.filter((_what, index) => answers[index]);
  };

  /** Nothing runs here, so nor does the guard; `helm-uninstall.test.ts` tests it. */
  const uninstall = (release: string, namespace: string): Promise<string> =>
    tool('helm', ['uninstall', release, '--namespace', namespace, '--wait', '--no-hooks']);

  test('lints without complaint, and refuses values that cannot work', async () => {
    expect(await tool('helm', ['lint', chart, '--strict', ...flags()])).toContain(
      '0 chart(s) failed',
    );
    for (const wrong of [
      'placement=both',
      'nats.url=http://nats',
      'cluster.name=',
      'services.solver.replica=3',
      'leaseDuration=soon',
    ]) {
      await expect(tool('helm', ['lint', chart, ...flags([wrong])])).rejects.toThrow(/failed/);
    }
  });

  test('makes a Deployment, an account and a disruption budget for each service', async () => {
    const deployments = (await kube.list(deploymentResource, {
      namespace: 'dovetail',
    })) as readonly Deployment[];
    expect(deployments.map(({ metadata }) => metadata.name).toSorted()).toEqual(
      services.map((service) => `dovetail-${service}`).toSorted(),
    );
    for (const { metadata, spec } of deployments) {
      const service = metadata.name.replace('dovetail-', '');
      const [container] = spec.template.spec.containers;
      expect(spec.template.spec.serviceAccountName).toBe(metadata.name);
      expect(container?.args).toEqual([
        `--max-old-space-size=${serviceHeapMiB[service]}`,
        `/app/${service}.js`,
      ]);
      const env = Object.fromEntries(
        (container?.env ?? []).map(({ name, value }) => [name, value]),
      );
      expect(env).toMatchObject({ CLUSTER_NAME: 'lab', NATS_URL: 'nats://nats.nats:4222' });
      expect(env['PLACEMENT']).toBe(service === 'launcher' ? 'bind' : undefined);
      expect(env['INTERRUPTION_QUEUE']).toBe(service === 'reaper' ? 'lab' : undefined);
    }
    expect(
      (await kube.list(kubeResources.podDisruptionBudgets, { namespace: 'dovetail' }))
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    ).toEqual(services.map((service) => `dovetail-${service}`).toSorted());
  });

  test.each(services)(
    '%s can do what its role says, and nothing beside it: no other verb, kind or subresource',
    async (service) => {
      const role = await kube.get({ resource: clusterRoles, name: `dovetail.dovetail-${service}` });
      const rights = rightsOf((role?.['rules'] ?? []) as readonly Rule[]);
      expect(rights.length > 0).toBe(service !== 'solver');
      const asked = [...new Set([...neighbours, ...rights])];
      expect((await granted(service, asked)).toSorted()).toEqual(rights.toSorted());
    },
  );

  test('the address of DNS is the only Service that the launcher may read', async () => {
    const get = (name: string): Promise<boolean> => may('launcher', 'get services', { name });
    expect([await get('kube-dns'), await get('kubernetes')]).toEqual([true, false]);
  });

  test("of other Leases, the launcher may list Karpenter's alone, wherever it is", async () => {
    const list = (...selection: readonly string[]): Promise<string> =>
      tool('kubectl', [
        ...['get', 'leases', '--all-namespaces', '--output=name', ...selection],
        '--as=system:serviceaccount:dovetail:dovetail-launcher',
      ]);
    expect(await list('--field-selector=metadata.name=karpenter-leader-election')).toBe('');
    await expect(list()).rejects.toThrow(/exit code 1/);
  });

  test.each(services.filter((service) => service !== 'solver'))(
    "%s may hold its own Lease in its own namespace, and nobody else's",
    async (service) => {
      const update = 'update leases.coordination.k8s.io';
      expect(
        await may(service, update, { namespace: 'dovetail', name: `dovetail-${service}` }),
      ).toBe(true);
      expect(
        await may(service, 'create leases.coordination.k8s.io', { namespace: 'dovetail' }),
      ).toBe(true);
      for (const name of services
        .filter((other) => other !== service)
        .map((other) => `dovetail-${other}`))
        expect(await may(service, update, { namespace: 'dovetail', name })).toBe(false);
      expect(
        await may(service, update, { namespace: 'kube-system', name: `dovetail-${service}` }),
      ).toBe(false);
    },
  );

  test('kubectl says so too', async () => {
    const canI = (service: Service, ...what: readonly string[]): Promise<string> =>
      tool('kubectl', [
        'auth',
        'can-i',
        ...what,
        '--all-namespaces',
        `--as=system:serviceaccount:dovetail:dovetail-${service}`,
      ]);
    expect((await canI('launcher', 'create', 'pods', '--subresource=binding')).trim()).toBe('yes');
    expect((await canI('reaper', 'create', 'pods', '--subresource=eviction')).trim()).toBe('yes');
    await expect(canI('launcher', 'create', 'pods', '--subresource=eviction')).rejects.toThrow(
      /exit code 1/,
    );
    await expect(canI('solver', 'get', 'pods')).rejects.toThrow(/exit code 1/);
  });

  test('with placement=scheduler nobody may bind pods', async () => {
    await tool('helm', [
      'install',
      'other',
      chart,
      '--namespace',
      'dovetail',
      ...flags(['placement=scheduler']),
    ]);
    for (const service of services)
      expect(await granted(service, ['create pods/binding'], 'other')).toEqual([]);
    expect(await granted('launcher', ['create nodeclaims.karpenter.sh'], 'other')).toEqual([
      'create nodeclaims.karpenter.sh',
    ]);
    await uninstall('other', 'dovetail');
  });

  test('brings the custom resources, which their own chart takes over, upgrades and keeps', async () => {
    const definitions = (): Promise<string> => tool('kubectl', ['get', 'crds', '--output', 'name']);
    const own = /karpenter|dovetail/g;
    expect((await definitions()).match(own)).toHaveLength(6);
    const labelled = async (): Promise<string> =>
      tool('kubectl', [
        'get',
        'crds',
        '--selector',
        'app.kubernetes.io/name=dovetail',
        '-o',
        'name',
      ]);
    expect(await labelled()).toBe('');
    const crds = ['dovetail-crd', chartDirs.crds, '--namespace', 'dovetail'];
    await expect(tool('helm', ['install', ...crds])).rejects.toThrow(/invalid ownership metadata/);
    await tool('helm', ['install', ...crds, '--take-ownership']);
    expect((await labelled()).trim().split('\n')).toHaveLength(6);
    await tool('helm', ['upgrade', ...crds, '--set', 'additionalAnnotations.seen=upgraded']);
    const path = '-o=jsonpath={.metadata.annotations.seen}';
    expect(await tool('kubectl', ['get', 'crd', 'nodepools.karpenter.sh', path])).toBe('upgraded');
    await tool('helm', ['uninstall', 'dovetail-crd', '--namespace', 'dovetail']);
    expect((await definitions()).match(own)).toHaveLength(6);
  });

  test('a second release is refused in another namespace, since both would buy nodes', async () => {
    const args = ['install', 'dovetail', chart, '--namespace', 'elsewhere', '--create-namespace'];
    await expect(tool('helm', [...args, ...flags()])).rejects.toThrow(
      'release dovetail in namespace dovetail runs Dovetail for this Kubernetes cluster already',
    );
    await tool('helm', [...args, ...flags(['besideOthers=true'])]);
    await uninstall('dovetail', 'elsewhere');
  });

  test('upgrades in place and goes without a trace', async () => {
    await tool('helm', [
      'upgrade',
      'dovetail',
      chart,
      '--namespace',
      'dovetail',
      ...flags(['services.solver.replicas=5']),
    ]);
    const solver = (await kube.get({
      resource: deploymentResource,
      namespace: 'dovetail',
      name: 'dovetail-solver',
    })) as Deployment | undefined;
    expect(solver?.spec.replicas).toBe(5);
    await uninstall('dovetail', 'dovetail');
    expect(
      await tool('kubectl', [
        'get',
        'clusterroles,clusterrolebindings',
        '--selector',
        'app.kubernetes.io/name=dovetail',
        '--output',
        'name',
      ]),
    ).toBe('');
  });
});
