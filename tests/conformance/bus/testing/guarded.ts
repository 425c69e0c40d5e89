import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  connectService,
  type NatsBus,
  seedFile,
  usersFile,
  writeUsers,
} from '@dovetail/adapter-nats';
import { type BusRole, deadLetterSpec, inboxOf, streamSpecs } from '@dovetail/contracts';
import type { Log } from '@dovetail/core-ports';
import { makeCertificate, type RunningNats, startNats } from '@dovetail/testbed';
import {
  connect,
  type NatsConnection,
  nkeyAuthenticator,
  PermissionViolationError,
} from '@nats-io/transport-node';

/** The cluster whose users the server has. */
export const cluster = 'lab';

/** The user of the server's owner, who may do anything. */
const operator = { user: 'operator', password: 'operator' };
const bytes = new TextEncoder().encode('x');

/** The subjects of these that the server refuses to a client. It answers in order. */
export async function refused(
  connection: NatsConnection,
  tried: readonly string[],
): Promise<readonly string[]> {
  const found: string[] = [];
  const status = connection.status();
  const listening = (async () => {
    for await (const each of status)
      if (each.type === 'error' && each.error instanceof PermissionViolationError)
        found.push(each.error.subject);
  })();
  for (const subject of tried) connection.publish(subject, bytes);
  await connection.flush();
  await connection.close();
  await listening;
  return found;
}

/**
 * A server with the users and the seeds that `nats-users` writes, and what services complained of.
 */
export class Guarded {
  readonly dir = mkdtempSync(join(tmpdir(), 'dovetail-rights-'));
  readonly complaints: string[] = [];
  nats!: RunningNats;
  /** The file with the authority of its certificate; empty: it speaks no TLS. */
  authority = '';

  /** Starts it; by TLS as `localhost` if so wanted, with the authority in the folder's ca.crt. */
  async start(path: string, { tls = false } = {}): Promise<void> {
    const config = `${await this.#users()}${tls ? this.#certified() : ''}`;
    this.nats = await startNats({ path, dir: join(this.dir, 'nats'), config });
  }

  /** Writes users and missing seeds. Answers the block of the server's configuration. */
  async #users(): Promise<string> {
    await writeUsers(cluster, this.dir);
    const users = readFileSync(join(this.dir, usersFile), 'utf8');
    return `authorization {\n${users.replace(/\]\s*$/, `${JSON.stringify(operator)}]\n`)}}\n`;
  }

  /** Makes the streams as their maker does. */
  async makeStreams(): Promise<void> {
    const maker = this.service('streams');
    await maker.ensureStreams([...streamSpecs(cluster), deadLetterSpec(cluster)]);
    await maker.close();
  }

  /** Makes an authority and a certificate. Answers the lines of the server's configuration. */
  #certified(): string {
    makeCertificate(this.dir, 'ca');
    this.authority = join(this.dir, 'ca.crt');
    makeCertificate(this.dir, 'nats', 'ca');
    const at = (file: string): string => JSON.stringify(join(this.dir, file));
    return `tls {\n  cert_file: ${at('nats.crt')}\n  key_file: ${at('nats.key')}\n}\n`;
  }

  /** Gives a role a new key while the server and its clients run. */
  async renew(role: BusRole): Promise<void> {
    const file = join(this.dir, 'nats', 'nats.conf');
    const config = readFileSync(file, 'utf8');
    const before = await this.#users();
    rmSync(join(this.dir, seedFile(role)));
    writeFileSync(file, config.replace(before, await this.#users()));
    process.kill(this.nats.pid, 'SIGHUP');
  }

  /** Its address, with the name that is in its certificate, if it has one. */
  get url(): string {
    const { url } = this.nats;
    return this.authority === '' ? url : url.replace('nats://127.0.0.1', 'tls://localhost');
  }

  /** A plain client of the server's owner. */
  operator(): Promise<NatsConnection> {
    return connect({ servers: this.nats.url, user: operator.user, pass: operator.password });
  }

  /** A plain client with a role's key. */
  raw(role: BusRole): Promise<NatsConnection> {
    const seed = readFileSync(join(this.dir, seedFile(role)), 'utf8').trim();
    return connect({
      servers: this.nats.url,
      authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
      inboxPrefix: inboxOf(cluster, role),
    });
  }

  /** The bus as a service has it. */
  service(role: Exclude<BusRole, 'reader'>): NatsBus {
    const complain = (_name: string, message: string): void => void this.complaints.push(message);
    const log: Log = {
      debug: () => undefined,
      info: () => undefined,
      warn: complain,
      error: complain,
    };
    return connectService(
      role,
      {
        clusterName: cluster,
        replicaName: 'one',
        natsUrl: this.url,
        natsReplicas: 1,
        natsCredentials: join(this.dir, `${role}.nk`),
        natsCa: this.authority,
        natsCert: '',
        natsKey: '',
      },
      { log },
    );
  }

  async stop(): Promise<void> {
    await this.nats.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
