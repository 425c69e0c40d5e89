import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectService, type NatsBus } from '@dovetail/adapter-nats';
import { type BusRole, streamSpecs } from '@dovetail/contracts';
import { helmFor, type Rendered, rendererOf, theOne } from '@dovetail/test-support/chart';
import { eventually } from '@dovetail/test-support/world';
import { freePort, httpRequest, isUnavailable, obtainNatsServer } from '@dovetail/testbed';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type ChartNats, startChartNats, startReloader } from './chart-nats.js';
import { dist } from './pod-runner.js';

/**
 * The bus of the chart: three real servers with the rendered configuration, the users that the
 * chart's Job makes, and the container that makes servers read changed files. The Job talks to a
 * stand-in of the API server that keeps Secrets; `install-on-eks.test.ts` has a real one.
 */
const helm = await helmFor('the bus of the chart');
const nats = await obtainNatsServer();
if (isUnavailable(nats))
  process.stdout.write(`LEFT OUT: the bus of the chart: ${nats.unavailable}\n`);
const account = '/var/run/secrets/kubernetes.io/serviceaccount';

type Data = Readonly<Record<string, string>>;
type WithData = Rendered & { readonly data: Data };
type Pod = {
  readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] };
};
type Templated = Rendered & { readonly spec: { readonly template: Pod } };
type Secret = { readonly data: Data };

(helm === undefined || isUnavailable(nats) ? describe.skip : describe)(
  'the bus of the chart',
  () => {
    const secrets = new Map<string, Secret>();
    let dir: string;
    let objects: readonly Rendered[];
    let api: Server;
    let port: number;
    let bus: ChartNats;
    const open: NatsBus[] = [];

    /** Keeps what is applied, and answers what it keeps. */
    const startApi = async (tls: Data): Promise<void> => {
      const [key, cert] = ['tls.key', 'tls.crt'].map((name) =>
        Buffer.from(tls[name] ?? '', 'base64'),
      );
      api = createServer({ key, cert }, (request, response) => {
        const [, name = ''] =
          /^\/api\/v1\/namespaces\/dovetail\/secrets\/([\w-]+)/.exec(request.url ?? '') ?? [];
        let body = '';
        request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        request.on('end', () => {
          if (request.method === 'PATCH') secrets.set(name, JSON.parse(body) as Secret);
          response.statusCode = secrets.has(name) ? 200 : 404;
          response.end(JSON.stringify(secrets.get(name)));
        });
      });
      port = await freePort();
      await new Promise<void>((resolve) => api.listen(port, '127.0.0.1', resolve));
    };
    /** Runs the Job that makes keys, and answers what it says. */
    const makeKeys = async (): Promise<string> => {
      const { args = [] } =
        theOne<Templated>(objects, 'Job', '-keys').spec.template.spec.containers[0] ?? {};
      const here = args.map((arg) => arg.replace(/^\/app\b/, dist).replace(account, dir));
      const child = spawn(process.execPath, here, {
        env: {
          KUBERNETES_SERVICE_HOST: 'localhost',
          KUBERNETES_SERVICE_PORT: `${port}`,
          TMPDIR: dir,
        },
      });
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
      const code = await new Promise((resolve) => child.once('close', resolve));
      if (code !== 0) throw new Error(said);
      return said.trim();
    };
    const textOf = (secret: string, key: string): string =>
      Buffer.from(secrets.get(secret)?.data[key] ?? '', 'base64').toString('utf8');
    /** A service as its pod connects: with the mounted key and authority. */
    const service = async (
      role: Exclude<BusRole, 'reader'>,
      complaints: string[] = [],
    ): Promise<NatsBus> => {
      const file = join(dir, `${role}.nk`);
      await writeFile(file, textOf(`dovetail-nats-${role}`, 'creds'));
      const complain = (_name: string, message: string): void => void complaints.push(message);
      const quiet = (): undefined => undefined;
      const made = connectService(
        role,
        {
          clusterName: 'lab',
          replicaName: 'one',
          natsUrl: bus.url,
          natsReplicas: 3,
          natsCredentials: file,
          natsCa: join(bus.folders[1], 'ca.crt'),
          natsCert: '',
          natsKey: '',
        },
        { log: { debug: quiet, info: quiet, warn: complain, error: complain } },
      );
      open.push(made);
      return made;
    };

    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'dovetail-bus-'));
      objects = await rendererOf(helm)(
        'nats.url=',
        'nats.insecure=false',
        'nats.server.enabled=true',
      );
      const tls = theOne<WithData>(objects, 'Secret', '-nats-tls').data;
      await writeFile(join(dir, 'ca.crt'), Buffer.from(tls['ca.crt'] ?? '', 'base64'));
      await writeFile(join(dir, 'token'), 'own');
      await startApi(tls);
      await makeKeys();
      if (isUnavailable(nats)) return;
      bus = await startChartNats({
        path: nats.path,
        dir,
        names: [0, 1, 2].map((index) => `dovetail-nats-${index}`),
        config: theOne<WithData>(objects, 'ConfigMap', '-nats').data['nats.conf'] ?? '',
        users: textOf('dovetail-nats-users', 'users.conf'),
        tls,
      });
    }, 120_000);
    afterAll(async () => {
      await Promise.all(open.map((each) => each.close()));
      await bus?.stop();
      await new Promise((resolve) => api?.close(resolve));
      await rm(dir, { recursive: true, force: true });
    });

    test('has a key for each service and for readers, and users without a secret', () => {
      const roles = [
        'console',
        'launcher',
        'pod-watcher',
        'reader',
        'reaper',
        'sinks',
        'solver',
        'streams',
      ];
      expect([...secrets.keys()].toSorted()).toEqual(
        [...roles, 'users'].map((role) => `dovetail-nats-${role}`).toSorted(),
      );
      for (const role of roles)
        expect(textOf(`dovetail-nats-${role}`, 'creds')).toMatch(/^SU[A-Z2-7]+\n$/);
      expect(textOf('dovetail-nats-users', 'users.conf')).not.toMatch(/\bSU[A-Z2-7]{20}/);
    });

    test('keeps every stream on three servers', async () => {
      const writer = await service('streams');
      await writer.ensureStreams(streamSpecs('lab'));
      const { body } = await httpRequest(`${bus.monitorUrl}/jsz?streams=true&config=true`);
      const copies = [...body.matchAll(/"num_replicas": (\d)/g)].map(([, count]) => count);
      expect(copies).toEqual(streamSpecs('lab').map(() => '3'));
    });

    test('lets nobody in without a key, and nobody without TLS', async () => {
      const tls = { caFile: join(bus.folders[1], 'ca.crt') };
      await expect(connect({ servers: bus.url, tls, reconnect: false })).rejects.toThrow(
        /[Aa]uthoriz/,
      );
      const plain = bus.url.replace('tls://', 'nats://');
      await expect(connect({ servers: plain, reconnect: false })).rejects.toThrow();
    });

    test('keeps the keys that are there when the release is upgraded', async () => {
      const before = textOf('dovetail-nats-solver', 'creds');
      expect(await makeKeys()).toBe('every key was there');
      expect(textOf('dovetail-nats-solver', 'creds')).toBe(before);
    });

    test('changes the key of a service while the servers and the service run', async () => {
      const complaints: string[] = [];
      const solver = await service('solver', complaints);
      await eventually('a connection', () => Promise.resolve(solver.state() === 'connected'));
      const pids = bus.servers.map(({ pid }) => pid);
      const { args = [] } =
        theOne<Templated>(objects, 'StatefulSet', '-nats').spec.template.spec.containers[1] ?? {};
      const reloader = await startReloader({ args, bus, dir });
      try {
        secrets.delete('dovetail-nats-solver');
        expect(await makeKeys()).toBe('made keys for solver');
        // As the kubelet does: the server's file, then the service's.
        await writeFile(
          join(bus.folders[0], 'users.conf'),
          textOf('dovetail-nats-users', 'users.conf'),
        );
        await eventually('the service to be turned away', () =>
          Promise.resolve(solver.state() !== 'connected'),
        );
        await writeFile(join(dir, 'solver.nk'), textOf('dovetail-nats-solver', 'creds'));
        await eventually('a connection by the new key', () =>
          Promise.resolve(solver.state() === 'connected'),
        );
      } finally {
        reloader.kill();
      }
      expect(bus.servers.map(({ pid }) => pid)).toEqual(pids);
    }, 60_000);
  },
);
