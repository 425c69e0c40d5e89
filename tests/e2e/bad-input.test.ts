import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { subjects } from '@dovetail/contracts';
import { kubeResources } from '@dovetail/core-ports';
import { freePort, isUnavailable, obtainNatsServer, type RunningNats, type RunningPart, startNats, startPart } from '@dovetail/testbed';
import { connect } from '@nats-io/transport-node';
import { events, untilRunning } from '../support/cluster.js';
import { applyDefinitions } from '../support/definitions.js';
import { deletePods, podObject, poolReady } from '../support/placement.js';
import { logged, metric, status } from '../support/service-view.js';
import { eventually, openWorld, type TestWorld, worlds } from '../support/world.js';
import { poolManifest } from '../support/workload.js';

/** Whatever is wrong is named in the log, counted, and shown where users look; the service waits, and works when the cause is gone. */
const world = (await worlds()).includes('real') ? 'real' : 'twin';
const dist = join(import.meta.dirname, '..', '..', 'dist');

describe(`bad input on the ${world} world`, () => {
  let at: TestWorld;
  const part = (name: string): RunningPart | undefined => at.lab.parts.get(name);
  const manifest = (): string => poolManifest({ clusterName: 'lab', vcpusMax: 8 });
  const [poolOnly = '', classOnly = ''] = manifest().split('\n---\n');
  const onPool = async (reason: string): Promise<boolean> => (await events(at)).some((event) => event.reason === reason && event.involvedObject?.kind === 'NodePool');
  beforeAll(async () => {
    at = await openWorld({ world, leaseMs: 15_000 });
  });
  afterAll(async () => at?.close());

  test('a pool whose class does not exist says so, and is used once it does', async () => {
    await at.kube.putManifests(poolOnly);
    await eventually('the log line', async () => (await logged(part('launcher'), 'pool-not-usable')).some((line) => line['reason'] === 'NodeClassNotFound'));
    expect(await metric(part('launcher'), 'dovetail_pools_not_usable_total', 'reason="NodeClassNotFound"')).toBe(1);
    await eventually('the event', () => onPool('NodeClassNotFound'));
    expect(await status(part('launcher'), 'readyz')).toBe(200);
    await at.kube.putManifests(classOnly);
    await poolReady(at);
    expect((await logged(part('launcher'), 'pool-usable')).length).toBe(1);
  });

  test('a pod that fits nowhere is told with its reasons, and runs once it fits', async () => {
    await at.kube.create(kubeResources.pods, podObject('giant', { cpu: '500' }));
    await eventually('the decision', () => at.decisions.of('unschedulable').some(({ objects, reasons }) => reasons.length > 0 && objects.some(({ name }) => name === 'giant')));
    await eventually('the event', async () => (await events(at)).some((event) => event.involvedObject?.name === 'giant' && event.message?.startsWith('Failed to schedule pod') === true));
    expect((await logged(part('launcher'), 'decision-unschedulable')).length).toBeGreaterThan(0);
    expect(await metric(part('pod-watcher'), 'dovetail_pods_unschedulable_total')).toBeGreaterThan(0);
    await deletePods(at);
    await at.kube.create(kubeResources.pods, podObject('small', { cpu: '1' }));
    await untilRunning(at, 'default', 1);
  });

  test('a selector that finds nothing makes its class and pool not ready, and names the selector', async () => {
    await at.kube.putManifests(classOnly.replace('karpenter.sh/discovery: lab', 'nobody: has-this'));
    await eventually('the log line', async () => (await logged(part('launcher'), 'pool-not-usable')).some((line) => line['reason'] !== 'NodeClassNotFound'));
    await eventually('the condition', async () => JSON.stringify((await at.list(kubeResources.ec2NodeClasses))[0]?.['status'] ?? '').includes('SubnetsNotFound'));
    expect(await metric(part('launcher'), 'dovetail_pools_not_usable_total')).toBe(2);
    await at.kube.putManifests(classOnly);
    await poolReady(at);
  });

  test('a malformed message on any subject is named, counted and dropped', async () => {
    const connection = await connect({ servers: at.lab.natsUrl });
    const garbage = new Uint8Array([255, 255, 255, 1, 2, 3]);
    for (const subject of [subjects.state('lab', 'pod', 'x'), subjects.pending('lab', 'x'), subjects.plan('lab', 'x'), subjects.classCatalog('lab', 'x', 0), subjects.decision('lab', 'launch')]) connection.publish(subject, garbage);
    const answer = await connection.request(subjects.planner('lab', 'plan'), garbage, { timeout: 5_000 });
    expect(new TextDecoder().decode(answer.data)).toContain('malformed-request');
    await connection.close();
    await eventually('pod-watcher to say it', async () => (await logged(part('pod-watcher'), 'message-malformed')).length > 0);
    await eventually('the solver to say it', async () => (await logged(part('solver-0'), 'batch-malformed')).length > 0);
    await eventually('the launcher to say it', async () => (await logged(part('launcher'), 'plan-malformed')).length > 0);
    for (const name of ['pod-watcher', 'solver-0', 'launcher']) expect(await metric(part(name), 'dovetail_malformed_messages_total')).toBeGreaterThan(0);
    for (const name of ['pod-watcher', 'solver-0', 'launcher', 'reaper']) expect([name, await status(part(name), 'readyz')]).toEqual([name, 200]);
    await at.kube.create(kubeResources.pods, podObject('after-garbage', { cpu: '3' }));
    await untilRunning(at, 'default', 2);
  });

  test('NATS that goes away mid-way is missed by name, and work goes on when it is back', async () => {
    at.lab.supervisor?.hold('nats-server');
    await part('nats-server')?.kill('SIGKILL');
    for (const name of ['pod-watcher', 'solver-0', 'launcher', 'reaper']) {
      await eventually(`${name} to say it`, async () => (await logged(part(name), 'nats-disconnected')).length > 0);
      expect([name, await status(part(name), 'healthz')]).toEqual([name, 200]);
      expect([name, await metric(part(name), 'dovetail_nats_failures_total', 'nats-disconnected')]).toEqual([name, 1]);
    }
    await eventually('the solver not to be ready', async () => (await status(part('solver-0'), 'readyz')) === 503);
    await at.kube.create(kubeResources.pods, podObject('while-away', { cpu: '4' }));
    at.lab.supervisor?.release('nats-server');
    await untilRunning(at, 'default', 3, 120_000);
  });
});

describe('a bus that cannot be used at start', () => {
  let dir: string;
  let natsPath: string;
  let url: string;
  let solver: RunningPart;
  const natsAt = (config = ''): Promise<RunningNats> => startNats({ path: natsPath, dir: join(dir, 'nats'), port: Number(new URL(url).port), config });
  /** A solver that answers its health page, whatever its bus does. */
  async function startSolver(): Promise<void> {
    const port = await freePort();
    const httpUrl = `http://127.0.0.1:${port}`;
    solver = Object.assign(await startPart({
      name: 'solver', command: process.execPath, args: [join(dist, 'solver.js')], logFile: join(dir, `solver-${port}.log`), readyDeadlineMs: 60_000,
      env: { CLUSTER_NAME: 'lab', NATS_URL: url, HTTP_PORT: String(port), HTTP_HOST: '127.0.0.1', REPLICA_NAME: 'solver', LOG_LEVEL: 'info' },
      ready: async () => (await fetch(`${httpUrl}/healthz`)).status === 200,
    }), { httpUrl });
  }
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'dovetail-bus-'));
    url = `nats://127.0.0.1:${await freePort()}`;
    const found = await obtainNatsServer();
    if (isUnavailable(found)) throw new Error(found.unavailable);
    natsPath = found.path;
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  const causes: readonly (readonly [cause: string, event: string, begin: () => Promise<() => Promise<unknown>>])[] = [
    ['down', 'nats-unreachable', async () => () => Promise.resolve()],
    ['refusing our credentials', 'nats-denied', async () => { const nats = await natsAt('authorization { user: somebody, password: else }'); return () => nats.stop(); }],
    ['too old', 'nats-server-too-old', async () => { const server = await oldServer(Number(new URL(url).port)); return () => new Promise((resolve) => { server.close(resolve); }); }],
  ];
  test.each(causes)('NATS that is %s is said as %s; the solver waits, and works when that is over', async (_cause, event, begin) => {
    const end = await begin();
    await startSolver();
    try {
      await eventually(event, async () => (await logged(solver, event)).length > 0);
      expect(await metric(solver, 'dovetail_nats_failures_total', event)).toBeGreaterThan(0);
      expect([await status(solver, 'healthz'), await status(solver, 'readyz')]).toEqual([200, 503]);
      await end();
      const nats = await natsAt();
      await eventually('the solver to be ready', async () => (await status(solver, 'readyz')) === 200);
      await nats.stop();
    } finally {
      await solver.stop();
    }
  });
});

/** Greets as nats-server 2.9.10 does and answers pings; more is not asked of it. */
async function oldServer(port: number): Promise<Server> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write('INFO {"server_id":"OLD","version":"2.9.10","proto":1,"host":"127.0.0.1","port":4222,"headers":true,"max_payload":1048576,"jetstream":true}\r\n');
    socket.on('data', (bytes) => { if (bytes.includes('PING')) socket.write('PONG\r\n'); });
  });
  await new Promise<void>((resolve) => { server.listen(port, '127.0.0.1', resolve); });
  const close = server.close.bind(server);
  server.close = (done) => { for (const socket of sockets) socket.destroy(); return close(done); };
  return server;
}

test(`definitions that are not installed yet are missed by name, on the ${world} world, and everything works once they are`, async () => {
  let installed: Promise<void> = Promise.resolve();
  // The lab is up when its services are ready, and they are not before the definitions are there: these come a while later.
  const prepare = (kubeconfig: string): Promise<void> => {
    installed = delay(8_000).then(() => applyDefinitions(kubeconfig));
    return Promise.resolve();
  };
  const at = await openWorld({ world, leaseMs: 15_000, prepare });
  try {
    await installed;
    const podWatcher = at.lab.parts.get('pod-watcher');
    expect((await logged(podWatcher, 'resource-not-served')).some((line) => line['resource'] === 'nodepools' && line.level === 'error')).toBe(true);
    expect(await metric(podWatcher, 'dovetail_resource_not_served_total')).toBeGreaterThan(0);
    await at.kube.putManifests(poolManifest({ clusterName: 'lab', vcpusMax: 8 }));
    await at.kube.create(kubeResources.pods, podObject('one', { cpu: '1' }));
    await untilRunning(at, 'default', 1, 90_000);
  } finally {
    await at.close();
  }
});
