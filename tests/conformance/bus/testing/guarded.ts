import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  connectService,
  type NatsBus,
  newUserKey,
  permissionsOf,
  type UserKey,
  usersConfig,
} from '@dovetail/adapter-nats';
import { busRights, type BusRole, busRoles, inboxOf } from '@dovetail/contracts';
import type { Log } from '@dovetail/core-ports';
import { makeCertificate, type RunningNats, startNats } from '@dovetail/testbed';
import { connect, type NatsConnection, nkeyAuthenticator } from '@nats-io/transport-node';

/** The cluster whose users the server has. */
export const cluster = 'lab';

/** A server with the users of a cluster, their seeds in files, and what services complained of. */
export class Guarded {
  readonly dir = mkdtempSync(join(tmpdir(), 'dovetail-rights-'));
  readonly keys = new Map<BusRole, UserKey>(busRoles.map((role) => [role, newUserKey()]));
  readonly complaints: string[] = [];
  nats!: RunningNats;
  /** The file with the authority of its certificate; empty: it speaks no TLS. */
  authority = '';

  /** Starts it; by TLS as `localhost` if so wanted, with the authority in the folder's ca.crt. */
  async start(path: string, { tls = false } = {}): Promise<void> {
    const users = new Map(
      [...this.keys].map(([role, { publicKey }]) => [
        role,
        { nkey: publicKey, permissions: permissionsOf(busRights(cluster, role)) },
      ]),
    );
    for (const [role, { seed }] of this.keys) writeFileSync(join(this.dir, `${role}.nk`), seed);
    const config = `authorization {\n${usersConfig(users)}}\n${tls ? this.#certified() : ''}`;
    this.nats = await startNats({ path, dir: join(this.dir, 'nats'), config });
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
    const [old, fresh] = [this.keys.get(role), newUserKey()];
    this.keys.set(role, fresh);
    const file = join(this.dir, 'nats', 'nats.conf');
    const config = readFileSync(file, 'utf8');
    writeFileSync(file, config.replace(old?.publicKey ?? '', fresh.publicKey));
    writeFileSync(join(this.dir, `${role}.nk`), fresh.seed);
    process.kill(this.nats.pid, 'SIGHUP');
  }

  /** Its address, with the name that is in its certificate, if it has one. */
  get url(): string {
    const { url } = this.nats;
    return this.authority === '' ? url : url.replace('nats://127.0.0.1', 'tls://localhost');
  }

  /** A plain client with a role's key. */
  raw(role: BusRole): Promise<NatsConnection> {
    const seed = new TextEncoder().encode(this.keys.get(role)?.seed);
    return connect({
      servers: this.nats.url,
      authenticator: nkeyAuthenticator(seed),
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
