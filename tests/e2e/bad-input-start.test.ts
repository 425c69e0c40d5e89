import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { kubeResources } from '@dovetail/core-ports';
import { events, runningPods, untilRunning } from '@dovetail/test-support/cluster';
import { applyDefinitions } from '@dovetail/test-support/definitions';
import { podObject, poolReady } from '@dovetail/test-support/placement';
import { logged, metric, status } from '@dovetail/test-support/service-view';
import { poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { isUnavailable, obtainNatsServer, type RunningPart, startNats } from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * Parts that may be missing when a service starts. The service reports it, waits, and works once
 * they are there.
 */
const world = (await worlds()).includes('real') ? 'real' : 'twin';
const services = ['pod-watcher', 'solver-0', 'launcher', 'reaper'] as const;
const aboutLease = async (at: TestWorld, reason: string, service: string): Promise<boolean> =>
  (await events(at)).some(
    (event) =>
      event.reason === reason &&
      event.involvedObject?.kind === 'Lease' &&
      event.involvedObject.name === `dovetail-${service}`,
  );

describe('NATS that cannot be used when the services start', () => {
  let at: TestWorld;
  let natsPath: string;
  const part = (name: string): RunningPart => at.lab.parts.get(name) as RunningPart;
  const port = (): number => Number(new URL(at.lab.natsUrl).port);
  beforeAll(async () => {
    const found = await obtainNatsServer();
    if (isUnavailable(found)) throw new Error(found.unavailable);
    natsPath = found.path;
    at = await openWorld({ world: 'twin' });
    for (const name of ['nats-server', ...services]) at.lab.supervisor?.hold(name);
    await at.kube.putManifests(poolManifest({ clusterName: 'lab', vcpusMax: 8 }));
    await poolReady(at);
  });
  afterAll(async () => at?.close());

  /** Each starts a fault in the place of NATS, and returns the function that ends it. */
  const causes: readonly (readonly [
    cause: string,
    event: string,
    reason: string,
    begin: () => Promise<() => Promise<void>>,
  ])[] = [
    ['down', 'nats-unreachable', 'NATSUnreachable', () => Promise.resolve(() => Promise.resolve())],
    [
      'refusing our credentials',
      'nats-denied',
      'NATSDenied',
      async () => {
        const nats = await startNats({
          path: natsPath,
          dir: join(at.lab.options.dir, 'other-nats'),
          port: port(),
          config: 'authorization { user: somebody, password: else }',
        });
        return () => nats.stop();
      },
    ],
    ['too old', 'nats-server-too-old', 'NATSServerTooOld', () => oldServer(port())],
  ];
  test.each(causes)(
    'NATS that is %s is said as %s by each service and shown as %s; they wait, and pods run when that is over',
    async (_cause, event, reason, begin) => {
      await Promise.all(services.map((name) => part(name).stop()));
      await part('nats-server').stop();
      const end = await begin();
      const saidBefore = new Map(
        await Promise.all(
          services.map(async (name) => [name, (await logged(part(name), event)).length] as const),
        ),
      );
      const ready = Promise.all(services.map((name) => part(name).restart()));
      for (const name of services) {
        await eventually(
          `${name} to say ${event}`,
          async () => (await logged(part(name), event)).length > (saidBefore.get(name) ?? 0),
        );
        await eventually(
          `the metric of ${name}`,
          async () =>
            (await metric(part(name), 'dovetail_nats_failures_total', `reason="${event}"`).catch(
              () => 0,
            )) > 0,
        );
        expect([name, await status(part(name), 'healthz')]).toEqual([name, 200]);
        expect([name, await status(part(name), 'readyz')]).toEqual([name, 503]);
      }
      for (const name of ['launcher', 'reaper'])
        await eventually(`the event of ${name}`, () => aboutLease(at, reason, name));
      await end();
      await part('nats-server').restart();
      await ready;
      for (const name of services)
        await eventually(
          `${name} to be connected`,
          async () =>
            (await logged(part(name), 'nats-connected')).length > 0 &&
            (await status(part(name), 'readyz')) === 200,
        );
      const before = (await runningPods(at, 'default')).length;
      await at.kube.create(kubeResources.pods, podObject(`after-${event}`, { cpu: '6' }));
      await untilRunning(at, 'default', before + 1);
    },
  );
});

/**
 * Greets as nats-server 2.9.10 does and answers pings; the test needs no more. Returns the function
 * that ends it.
 */
async function oldServer(port: number): Promise<() => Promise<void>> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write(
      'INFO {"server_id":"OLD","version":"2.9.10","proto":1,"host":"127.0.0.1","port":4222,"headers":true,"max_payload":1048576,"jetstream":true}\r\n',
    );
    socket.on('data', (bytes) => {
      if (bytes.includes('PING')) socket.write('PONG\r\n');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
}

test(`definitions that are not installed yet are missed by name, on the ${world} world, and everything works once they are`, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'dovetail-test-'));
  const missing = ['pod-watcher', 'launcher', 'reaper'] as const;
  const says = async (name: string): Promise<boolean> =>
    (await readFile(join(dir, 'logs', `${name}.log`), 'utf8').catch(() => '')).includes(
      '"resource-not-served"',
    );
  // The lab is up when its services are ready, and they need the definitions. So these come after
  // each service has missed them.
  let installed: Promise<void> = Promise.resolve();
  const install = async (kubeconfig: string): Promise<void> => {
    for (const name of missing)
      await eventually(`${name} to miss the definitions`, () => says(name));
    await applyDefinitions(kubeconfig);
  };
  const at = await openWorld({
    world,
    dir,
    prepare: (kubeconfig) => {
      installed = install(kubeconfig);
      return Promise.resolve();
    },
  });
  try {
    await installed;
    for (const name of missing) {
      const lines = await logged(at.lab.parts.get(name), 'resource-not-served');
      expect([
        name,
        lines.some(
          (line) =>
            line['resource'] === 'nodepools' &&
            line.level === 'error' &&
            line.msg.includes('apply deploy/crds'),
        ),
      ]).toEqual([name, true]);
      expect([
        name,
        await metric(
          at.lab.parts.get(name),
          'dovetail_resource_not_served_total',
          'resource="nodepools"',
        ),
      ]).toEqual([name, 1]);
    }
    for (const name of ['launcher', 'reaper'])
      await eventually(`the event of ${name}`, () => aboutLease(at, 'ResourceNotServed', name));
    await at.kube.putManifests(poolManifest({ clusterName: 'lab', vcpusMax: 8 }));
    await at.kube.create(kubeResources.pods, podObject('one', { cpu: '1' }));
    await untilRunning(at, 'default', 1, 90_000);
  } finally {
    await at.close();
    await rm(dir, { recursive: true, force: true });
  }
});
