import type { Log, Metrics } from '@dovetail/core-ports';
import {
  type Authenticator,
  credsAuthenticator,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';

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

/** The client library's authenticator for these credentials. */
export function authenticatorOf(credentials: NatsCredentials): Authenticator {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  switch (credentials.kind) {
    case 'user':
      return usernamePasswordAuthenticator(credentials.user, credentials.password);
    case 'token':
      return tokenAuthenticator(credentials.token);
    case 'nkey':
      return nkeyAuthenticator(bytes(credentials.seed));
    case 'creds':
      return credsAuthenticator(bytes(credentials.text));
    case 'file':
      return (nonce) => authenticatorOf(credentials.read())(nonce);
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
