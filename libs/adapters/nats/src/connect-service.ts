import { type BusRole, inboxOf } from '@dovetail/contracts';

import { connectNats, type NatsBus } from './bus.js';
import { credentialsOf } from './credentials-file.js';
import type { NatsOptions } from './options.js';

/** How a service reaches NATS, by its settings. An empty path stands for none. */
export type NatsSettings = {
  readonly clusterName: string;
  readonly replicaName: string;
  /** Addresses, separated by commas. */
  readonly natsUrl: string;
  readonly natsReplicas: number;
} & SecretFiles;

/** The files that prove who this client is, and who NATS is. */
export type SecretFiles = {
  readonly natsCredentials: string;
  readonly natsCa: string;
  readonly natsCert: string;
  readonly natsKey: string;
};

/**
 * Connects a service as the role that it plays, with that role's own inbox. Throws when a file
 * cannot be read, or a certificate comes without its key.
 */
export function connectService(
  role: Exclude<BusRole, 'reader'>,
  given: NatsSettings,
  told: Pick<NatsOptions, 'log' | 'metrics'>,
): NatsBus {
  const servers = given.natsUrl.split(',');
  return connectNats({
    ...told,
    servers,
    replicas: given.natsReplicas,
    makesStreams: role === 'streams' || given.natsCredentials === '',
    name: `${role} ${given.replicaName}`,
    inboxPrefix: inboxOf(given.clusterName, role),
    ...secretsOf(servers, given),
  });
}

/**
 * Credentials and TLS. With an authority, a certificate or a `tls://` address the server must speak
 * TLS, and its name is checked. Throws as `connectService` does.
 */
export function secretsOf(
  servers: readonly string[],
  { natsCredentials, natsCa, natsCert, natsKey }: SecretFiles,
): Pick<NatsOptions, 'credentials' | 'tls'> {
  if ((natsCert === '') !== (natsKey === ''))
    throw new Error(
      natsKey === ''
        ? `NATS_CERT is ${natsCert}, and NATS_KEY is not set: give the path of its key`
        : `NATS_KEY is ${natsKey}, and NATS_CERT is not set: give the path of its certificate`,
    );
  const tls = {
    ...(natsCa === '' ? {} : { caFile: natsCa }),
    ...(natsCert === '' ? {} : { certFile: natsCert, keyFile: natsKey }),
  };
  const isWanted =
    Object.keys(tls).length > 0 || servers.some((server) => server.startsWith('tls://'));
  return { ...credentialsOf(natsCredentials), ...(isWanted ? { tls } : {}) };
}
