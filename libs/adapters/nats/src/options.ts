import { type Log, messageOf, type Metrics } from '@dovetail/core-ports';
import {
  type Authenticator,
  credsAuthenticator,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';

import { userKeyOf } from './user-keys.js';

/** How a service authenticates. */
export type NatsCredentials =
  | { readonly kind: 'user'; readonly user: string; readonly password: string }
  | { readonly kind: 'token'; readonly token: string }
  /** An NKey seed (`SU…`). */
  | { readonly kind: 'nkey'; readonly seed: string }
  /** The text of a `.creds` file: user JWT and seed. */
  | { readonly kind: 'creds'; readonly text: string }
  /** Read anew for each connection; see `credentialsOf`. */
  | {
      readonly kind: 'file';
      readonly read: () => Extract<NatsCredentials, { readonly kind: 'nkey' | 'creds' }>;
    };

/** How to connect to NATS. */
export type NatsOptions = {
  /** `nats://host:port` or `tls://host:port`: servers of one NATS cluster. */
  readonly servers: readonly string[];
  /** Shown in the server's connection list. */
  readonly name: string;
  readonly credentials?: NatsCredentials;
  /** PEM files for TLS. Without `caFile` the system's authorities apply. */
  readonly tls?: {
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  };
  /**
   * The first tokens of the subjects on which answers are received, when the user may subscribe to
   * no others (`inboxOf`). Default `_INBOX`.
   */
  readonly inboxPrefix?: string;
  readonly log: Log;
  /** Counts `dovetail_nats_failures_total` by the name of what was logged. */
  readonly metrics?: Metrics;
  /**
   * Whether this client makes streams, or waits until another one has made them. Default: it makes
   * them if it has no credentials, because NATS then knows no users.
   */
  readonly makesStreams?: boolean;
  /** Copies of each stream, 1 to 5. More than 1 needs a NATS cluster. Default 1. */
  readonly replicas?: number;
  /** How long one call waits for the server. Default 5,000. */
  readonly timeoutMs?: number;
};

/**
 * The state of the connection. `denied` and `server-too-old` are retried too, because someone may
 * fix them.
 */
export type NatsState =
  | 'connecting'
  | 'connected'
  | 'disconnected'
  | 'unreachable'
  | 'denied'
  | 'server-too-old'
  | 'closed';

/**
 * Per-message TTL and multi-subject consumers need this version. Older servers accept a TTL
 * silently and ignore it.
 */
export const natsVersionMin = '2.11.0';

/**
 * The client library's authenticator for these credentials. White space around a key does not
 * count. Throws when the key cannot be read.
 */
export function authenticatorOf(credentials: NatsCredentials): Authenticator {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  switch (credentials.kind) {
    case 'user':
      return usernamePasswordAuthenticator(credentials.user, credentials.password);
    case 'token':
      return tokenAuthenticator(credentials.token);
    case 'nkey':
      return nkeyAuthenticator(bytes(readableSeed(credentials.seed)));
    case 'creds':
      readableSeed(seedIn.exec(credentials.text)?.[1] ?? '');
      return credsAuthenticator(bytes(credentials.text));
    case 'file':
      return (nonce) => authenticatorOf(credentials.read())(nonce);
  }
}

/** The seed in the text of a `.creds` file. */
const seedIn = /BEGIN USER NKEY SEED-+\s*(\w+)/;

function readableSeed(text: string): string {
  const seed = text.trim();
  try {
    return userKeyOf(seed).seed;
  } catch (error) {
    throw new Error(
      `the key for NATS cannot be read (${messageOf(error)}): give the seed of a user, as \`dovetail nats-users\` writes it, or the text of a .creds file`,
      { cause: error },
    );
  }
}

/** Whether a server's version (`2.15.1`, `2.11.0-beta.1`) is at least another. */
export function isAtLeast(version: string, least: string): boolean {
  const numbers = (text: string): number[] => text.split(/[-+]/)[0]?.split('.').map(Number) ?? [];
  const [have, want] = [numbers(version), numbers(least)];
  for (let index = 0; index < want.length; index += 1) {
    const difference = (have[index] ?? 0) - (want[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
