import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { TestbedError } from '../process/errors.js';
import { httpRequest } from '../process/http.js';
import { type RunningPart, startPart } from '../process/part.js';
import { freePort } from '../process/ports.js';

/** How to start a NATS server. */
export type NatsOptions = {
  readonly path: string;
  /**
   * The folder of configuration, log and JetStream's files. An earlier start's files are used
   * again.
   */
  readonly dir: string;
  /** Default: a free port, kept over restarts. */
  readonly port?: number;
  /** Lines added to the server's configuration file, in its own syntax. */
  readonly config?: string;
  readonly readyDeadlineMs?: number;
};

/** A NATS server with JetStream on files, on loopback only. */
export type RunningNats = RunningPart & {
  readonly url: string;
  readonly monitorUrl: string;
  /** Deletes all streams, as if the disk was lost. The server must be down. */
  wipeStore(): Promise<void>;
};

/** Starts nats-server and returns when JetStream is ready. */
export async function startNats(options: NatsOptions): Promise<RunningNats> {
  const { dir, path } = options;
  const port = options.port || (await freePort());
  const monitorUrl = `http://127.0.0.1:${await freePort()}`;
  const storeDir = join(dir, 'jetstream');
  const configFile = join(dir, 'nats.conf');
  await mkdir(dir, { recursive: true });
  await writeFile(
    configFile,
    configText({ port, monitorUrl, storeDir, more: options.config ?? '' }),
  );
  const part = await startPart({
    name: 'nats-server',
    command: path,
    args: ['--config', configFile],
    logFile: join(dir, 'nats.log'),
    // The check includes JetStream: a server that listens may still be recovering its streams.
    ready: async () => (await httpRequest(`${monitorUrl}/healthz`)).status === 200,
    readyDeadlineMs: options.readyDeadlineMs ?? 20_000,
  });
  const wipeStore = async (): Promise<void> => {
    if (part.running) throw stillRunning();
    await rm(storeDir, { recursive: true, force: true });
  };
  return Object.assign(part, { url: `nats://127.0.0.1:${port}`, monitorUrl, wipeStore });
}

type ConfigParts = {
  readonly port: number;
  readonly monitorUrl: string;
  readonly storeDir: string;
  readonly more: string;
};

const configText = ({ port, monitorUrl, storeDir, more }: ConfigParts): string => `
server_name: testbed
listen: "127.0.0.1:${port}"
http: "${new URL(monitorUrl).host}"
jetstream {
  store_dir: ${JSON.stringify(storeDir)}
  # Fixed, because the defaults follow the machine's memory and disk, and streams reserve from them.
  max_memory_store: 1GB
  max_file_store: 16GB
}
${more}
`;

const stillRunning = (): TestbedError =>
  new TestbedError({
    failed: 'wipeStore on a running nats-server',
    remedy: 'stop() or kill() it first',
  });
