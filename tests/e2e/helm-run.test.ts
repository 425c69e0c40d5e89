import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { chartDirs } from '@dovetail/test-support/chart';
import {
  addForeignNode,
  claims,
  instances,
  ourNodes,
  untilRunning,
} from '@dovetail/test-support/cluster';
import { realParts } from '@dovetail/test-support/real-parts';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import {
  freePort,
  obtainControlPlane,
  obtainHelm,
  obtainKubectl,
  obtainNatsServer,
  run,
  seedOf,
} from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Ended, planeOf, type PodRunnerDeps, runPods } from './pod-runner.js';
import { runServicePods, secrets, type ServicePods } from './service-pods.js';

/**
 * The chart at work: installed by a real Helm on a real API server, whose controllers and scheduler
 * make its pods. Each pod's own command runs as a process with the token of its ServiceAccount and
 * with its environment. No service has any other right than the chart gives it.
 */
const parts = await realParts('the chart at work on a real API server', {
  helm: () => obtainHelm(),
  kubectl: () => obtainKubectl(),
  nats: () => obtainNatsServer(),
  plane: () => obtainControlPlane(),
});

const services = ['podWatcher', 'solver', 'launcher', 'reaper'] as const;
const componentOf = (service: string): string =>
  service === 'podWatcher' ? 'pod-watcher' : service;
const release = ['dovetail', chartDirs.dovetail, '--namespace', 'dovetail'] as const;

/** The values of an installation whose services share the network of one host. */
async function valuesFor({ natsUrl, cloudUrl }: TestWorld['lab']): Promise<object> {
  const aws = (name: string): object => ({
    AWS_ENDPOINT_URL: cloudUrl,
    AWS_ACCESS_KEY_ID: name,
    AWS_SECRET_ACCESS_KEY: 'lab',
  });
  const own = services.map(async (service) => [
    service,
    {
      replicas: 1,
      port: await freePort(),
      natsCredentialsSecret: `nats-${componentOf(service)}`,
      ...(/launcher|reaper/.test(service) ? { env: aws(service) } : {}),
    },
  ]);
  return {
    cluster: { name: 'lab', region: 'us-west-2' },
    // The streams of the lab are there.
    nats: { url: natsUrl, streams: { enabled: false } },
    interruptionQueue: 'lab',
    common: { hostNetwork: true },
    services: Object.fromEntries(await Promise.all(own)),
  };
}

const ours = 'app.kubernetes.io/instance=dovetail,app.kubernetes.io/component';

describe.skipIf(parts === undefined)('the chart at work', () => {
  let dir: string;
  let at: TestWorld;
  let pods: ServicePods;
  let deps: PodRunnerDeps;
  let refusedBefore: number;
  const helm = async (...args: readonly string[]): Promise<string> => {
    if (parts === undefined) throw new Error('no helm');
    const env = { HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir, HELM_DATA_HOME: dir };
    const output = await run(parts.helm.path, args, {
      deadlineMs: 120_000,
      remedy: 'read its output',
      env: { KUBECONFIG: at.lab.kubeconfig, ...env },
    });
    return output.stdout;
  };
  const tokenOf = async (account: string, pod: string): Promise<string> => {
    const bound = ['--bound-object-kind', 'Pod', '--bound-object-name', pod];
    const namespace = ['--namespace', 'dovetail'];
    return (await at.kubectl('create', 'token', account, ...namespace, ...bound)).trim();
  };
  /** Runs `helm test` and its pod, to which the names of the Services lead to this host. */
  const helmTest = async (): Promise<{ readonly pods: readonly Ended[]; readonly ok: boolean }> => {
    const stop = new AbortController();
    const reached = (text: string): string =>
      text.replace(/^http:\/\/dovetail-[\w-]+\.dovetail\.svc:/, 'http://127.0.0.1:');
    const running = runPods({ ...deps, reached }, `${ours}=test`, stop.signal);
    const ok = await helm('test', 'dovetail', '--namespace', 'dovetail', '--timeout', '60s').then(
      () => true,
      () => false,
    );
    stop.abort();
    return { pods: await running, ok };
  };
  /** Requests that the API server has refused for want of a right, of everyone. */
  const refused = async (): Promise<number> =>
    (await at.kubectl('get', '--raw', '/metrics'))
      .split('\n')
      .filter((line) => line.startsWith('apiserver_request_total{') && line.includes('code="403"'))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dovetail-chart-'));
    // The chart brings the definitions.
    at = await openWorld({
      world: 'real',
      servicesLeftOut: true,
      prepare: () => Promise.resolve(),
    });
    await at.kubectl('create', 'namespace', 'dovetail');
    for (const component of services.map(componentOf)) {
      const seed = await readFile(seedOf(at.lab.options, component));
      await at.kube.create(secrets, {
        metadata: { name: `nats-${component}`, namespace: 'dovetail' },
        data: { creds: seed.toString('base64') },
      });
    }
    await addForeignNode(at, {
      name: 'base',
      labels: { 'topology.kubernetes.io/zone': 'us-west-2a' },
      taints: [{ key: 'CriticalAddonsOnly', effect: 'NoSchedule' }],
    });
    const values = join(dir, 'values.json');
    await writeFile(values, JSON.stringify(await valuesFor(at.lab)));
    refusedBefore = await refused();
    deps = { kube: at.kube, plane: await planeOf(at), dir, tokenOf };
    pods = runServicePods(deps, `${ours} in (${services.map(componentOf).join(', ')})`);
    await helm('install', ...release, '--values', values, '--wait', '--timeout', '60s').catch(
      (error: unknown) => {
        throw new Error([String(error), ...pods.failures].join('\n'));
      },
    );
  });
  afterAll(async () => {
    await pods?.stop();
    await at?.close();
    if (process.env['KEEP_LAB'] !== '1') await rm(dir, { recursive: true, force: true });
  });

  test('is installed once every service is ready, each as its own account', () => {
    expect([...pods.parts.keys()].toSorted()).toEqual(services.map(componentOf).toSorted());
    expect(pods.failures).toEqual([]);
  });

  test('pods become nodes', async () => {
    await at.kube.putManifests(
      poolManifest({ clusterName: 'lab', capacityTypes: ['spot'], consolidateAfter: '0s' }),
    );
    await at.kube.putManifests(
      deploymentManifest({ name: 'inflate', replicas: 4, cpu: '1', memory: '1Gi' }),
    );
    await untilRunning(at, 'default', 4);
    expect((await ourNodes(at)).length).toBe((await claims(at)).length);
  });

  test('an interrupted node is drained, and its pods get another one', async () => {
    const [first] = await instances(at);
    await at.cloud('POST', 'interrupt', { instanceId: first?.instanceId });
    await eventually('the end of the interrupted instance', async () =>
      (await instances(at)).every(({ instanceId }) => instanceId !== first?.instanceId),
    );
    await untilRunning(at, 'default', 4);
  });

  test('an empty node retires', async () => {
    await at.kubectl('scale', 'deployment/inflate', '--replicas=0');
    await eventually('no claim', async () => (await claims(at)).length === 0);
    await eventually('no node', async () => (await ourNodes(at)).length === 0);
    expect(await instances(at)).toEqual([]);
  });

  test('helm test asks every service whether it is ready', async () => {
    const { pods: ended, ok } = await helmTest();
    expect({ ended, ok }).toMatchObject({ ended: [{ code: 0 }], ok: true });
    expect(ended[0]?.said.match(/readyz 200/g)).toHaveLength(4);
  });

  test('no request was refused for want of a right', async () => {
    expect((await refused()) - refusedBefore).toBe(0);
    for (const { logFile } of pods.parts.values())
      expect(await readFile(logFile, 'utf8')).not.toMatch(/forbidden/i);
  });

  test('helm test fails when a service is gone, and says which', async () => {
    await pods.parts.get('solver')?.stop();
    const { pods: ended, ok } = await helmTest();
    expect({ ended, ok }).toMatchObject({ ended: [{ code: 1 }], ok: false });
    expect(ended[0]?.said.match(/readyz 200/g)).toHaveLength(3);
    expect(ended[0]?.said).toMatch(/readyz .*ECONNREFUSED/);
  });
});
