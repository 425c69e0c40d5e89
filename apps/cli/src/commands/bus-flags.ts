import type { Command } from 'commander';

import type { BusRequest } from '../nats/connection.js';
import { clusterName } from './cluster-name.js';

/** The variables that flags default to. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The flags of commands that read NATS. */
export type BusFlags = {
  readonly nats?: string;
  readonly natsCredentials?: string;
  readonly natsCa?: string;
  readonly natsCert?: string;
  readonly natsKey?: string;
  readonly cluster: string;
};

/** The bus that the flags, and else the environment, name. */
export const busRequestOf = (flags: BusFlags, environment: Environment): BusRequest => ({
  cluster: flags.cluster,
  nats: flags.nats ?? (environment['NATS_URL'] || undefined),
  secrets: {
    natsCredentials: flags.natsCredentials ?? environment['NATS_CREDENTIALS'] ?? '',
    natsCa: flags.natsCa ?? environment['NATS_CA'] ?? '',
    natsCert: flags.natsCert ?? environment['NATS_CERT'] ?? '',
    natsKey: flags.natsKey ?? environment['NATS_KEY'] ?? '',
  },
});

/** The flags for the connection to NATS. */
export const withConnection = (command: Command, environment: Environment): Command =>
  command
    .option(
      '--nats <url>',
      'address of NATS (default: NATS_URL, then the lab that runs in this folder, then nats://127.0.0.1:4222)',
    )
    .option(
      '--nats-credentials <file>',
      'NATS credentials: a .creds file or an NKey seed (default: NATS_CREDENTIALS)',
    )
    .option(
      '--nats-ca <file>',
      "certificates (PEM) that sign NATS' own (default: NATS_CA, then the system's)",
    )
    .option('--nats-cert <file>', "this client's certificate (PEM; default: NATS_CERT)")
    .option('--nats-key <file>', 'the key (PEM) of --nats-cert (default: NATS_KEY)')
    .option(
      '--cluster <name>',
      'name of the cluster (default: CLUSTER_NAME, then lab)',
      clusterName,
      environment['CLUSTER_NAME'] ?? 'lab',
    );
