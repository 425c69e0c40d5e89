import { createHash } from 'node:crypto';

import type { NatsOptions } from '@dovetail/adapter-nats';
import { type BusRole, inboxOf } from '@dovetail/contracts';
import type { Hash, Log } from '@dovetail/core-ports';

/** How a program proves to NATS who it is. */
export type NatsCredentials = NonNullable<NatsOptions['credentials']>;

/** Where the bus of a cluster is, and as whom to read it. */
export type BusAddress = Partial<Omit<NatsOptions, 'servers' | 'metrics' | 'replicas'>> & {
  /** `nats://host:port` or `tls://host:port`. The default is a server on this machine. */
  readonly servers?: readonly string[];
  /** The cluster's name, as in the services' settings. */
  readonly cluster: string;
};

/** A log that says nothing. */
const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The options of a connection with the inbox of a role, where the address gives no others. */
export const connectionOf = (
  { cluster, servers = ['nats://127.0.0.1:4222'], ...given }: BusAddress,
  role: BusRole,
): NatsOptions => ({
  name: 'dovetail-client',
  log: silent,
  inboxPrefix: inboxOf(cluster, role),
  ...given,
  servers,
});

/** SHA-256 by Node's crypto module: large messages are checked by it. */
export const hash: Hash = { sha256Hex: (text) => createHash('sha256').update(text).digest('hex') };
