import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { freePort, httpRequest, type RunningPart, startPart } from '@dovetail/testbed';

/**
 * The NATS servers of the chart, as processes on this host: each with the configuration, users and
 * certificate of its pod, and with ports and folders of its own.
 */
export type ChartNats = {
  readonly servers: readonly RunningPart[];
  /** The first server, by a name of the certificate, as a forwarded port has it. */
  readonly url: string;
  readonly monitorUrl: string;
  /** The folders of users and of the certificate, which all servers read. */
  readonly folders: readonly [users: string, tls: string];
  stop(): Promise<void>;
};

/** The files that pods mount: `nats.conf`, `users.conf`, and the Secret of the certificate. */
type ChartNatsFiles = {
  readonly config: string;
  readonly users: string;
  readonly tls: Readonly<Record<string, string>>;
};

/** How to start them. */
export type ChartNatsOptions = ChartNatsFiles & {
  /** The path of nats-server. */
  readonly path: string;
  readonly dir: string;
  readonly names: readonly string[];
};

type Ports = { readonly client: number; readonly monitor: number; readonly cluster: number };

/** Starts them, and returns once JetStream of each has answered. */
export async function startChartNats(options: ChartNatsOptions): Promise<ChartNats> {
  const { dir, names, users, tls } = options;
  const folders = [join(dir, 'nats'), join(dir, 'nats-tls')] as const;
  for (const folder of folders) await mkdir(folder, { recursive: true });
  await writeFile(join(folders[0], 'users.conf'), users);
  for (const [key, text] of Object.entries(tls))
    await writeFile(join(folders[1], key), Buffer.from(text, 'base64'), { mode: 0o600 });
  const ports: Ports[] = [];
  for (const _ of names)
    ports.push({ client: await freePort(), monitor: await freePort(), cluster: await freePort() });
  const servers = await Promise.all(names.map((_name, index) => started(options, ports, index)));
  return {
    servers,
    url: `tls://localhost:${ports[0]?.client}`,
    monitorUrl: `http://127.0.0.1:${ports[0]?.monitor}`,
    folders,
    async stop() {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

async function started(
  { path, dir, names, config }: ChartNatsOptions,
  ports: readonly Ports[],
  index: number,
): Promise<RunningPart> {
  const name = names[index] ?? '';
  const { client, monitor, cluster } = ports[index] as Ports;
  const file = join(dir, 'nats', `${name}.conf`);
  const here = names
    .reduce(
      (text, each, peer) =>
        text.replace(new RegExp(`//${each}\\.\\S+:6222`), `//localhost:${ports[peer]?.cluster}`),
      config,
    )
    .replace('[::]:4222', `127.0.0.1:${client}`)
    .replace('[::]:8222', `127.0.0.1:${monitor}`)
    .replace('[::]:6222', `127.0.0.1:${cluster}`)
    .replace('/data', join(dir, name))
    .replaceAll('/etc/nats-tls', join(dir, 'nats-tls'));
  await writeFile(file, here);
  return startPart({
    name,
    command: path,
    args: ['--config', file],
    env: { SERVER_NAME: name },
    logFile: join(dir, `${name}.log`),
    ready: async () => (await httpRequest(`http://127.0.0.1:${monitor}/healthz`)).status === 200,
    readyDeadlineMs: 60_000,
  });
}

/** The container beside a server, and what it works on. */
type ReloaderOptions = {
  readonly args: readonly string[];
  readonly bus: ChartNats;
  readonly dir: string;
};

/** Runs the container that makes servers read changed files. It sees no processes but theirs. */
export async function startReloader({ args, bus, dir }: ReloaderOptions): Promise<ChildProcess> {
  const processes = join(dir, 'proc');
  for (const { pid } of bus.servers) {
    await mkdir(join(processes, `${pid}`), { recursive: true });
    await writeFile(join(processes, `${pid}`, 'comm'), 'nats-server\n');
  }
  const here: Readonly<Record<string, string>> = {
    '/proc': processes,
    '/etc/nats': bus.folders[0],
    '/etc/nats-tls': bus.folders[1],
  };
  return spawn(
    process.execPath,
    args.map((arg) => here[arg] ?? arg),
    { stdio: 'ignore' },
  );
}
