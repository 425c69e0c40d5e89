import { EC2Client } from '@aws-sdk/client-ec2';
import { STSClient } from '@aws-sdk/client-sts';
import type { Clock, Log } from '@dovetail/core-ports';

import { AwsCalls, type CallKind, type CallLimits, type CallObserver } from './calls.js';
import type { Pace } from './pacer.js';
import { type AssumedRole, roleCredentials } from './role.js';

type Keys = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
};

/** Where and as whom AWS is called. */
export type AwsConnection = {
  /** The region whose APIs answer, for example `us-east-1`. */
  readonly region: string;
  /** One endpoint for all services, for twins and private stand-ins. Absent: AWS' own endpoints. */
  readonly endpoint?: string;
  /** Absent: the SDK's own chain finds them (environment, profile, IRSA, Pod Identity, IMDS). */
  readonly credentials?: Keys;
  /** AWS is called as this role. The credentials above only ask STS for those of the role. */
  readonly role?: AssumedRole;
  /**
   * How long one call may take. The default of 60 s leaves room for CreateFleet, which answers when
   * its instances exist.
   */
  readonly callTimeoutMs?: number;
};

/** A connection, and how its calls are timed, paced, retried and observed. */
export type AwsSessionOptions = AwsConnection & {
  readonly clock: Clock;
  /** Receives a warning for each retry. */
  readonly log?: Log;
  /** Called after every attempt of every call, for metrics. */
  readonly observe?: CallObserver;
  /** How fast each kind of call may go. The default is EC2's documented buckets. */
  readonly paces?: Readonly<Record<CallKind, Pace>>;
  /**
   * Whether this process may change instances, fleets and templates. It is asked before each
   * attempt, because another replica may lead by then. Absent: it always may.
   */
  readonly mayWrite?: () => boolean;
  /** How often and how patiently a call is retried. */
  readonly limits?: CallLimits;
};

type Client = { destroy(): void };

type Credentials = Keys | (() => Promise<Keys>) | undefined;

/** Retries are off: AwsCalls paces and retries in one place. */
const clientSettings = (connection: AwsConnection, region: string, credentials: Credentials) => ({
  region,
  maxAttempts: 1,
  ...(connection.endpoint === undefined ? {} : { endpoint: connection.endpoint }),
  ...(credentials === undefined ? {} : { credentials }),
  requestHandler: {
    connectionTimeout: 5_000,
    requestTimeout: connection.callTimeoutMs ?? 60_000,
    throwOnRequestTimeout: true,
  },
});

/** The settings that every client of the SDK gets. */
export type ClientSettings = ReturnType<typeof clientSettings>;

/**
 * One account and region, as one process calls it. The ports of this package share a session, so
 * that they share its connections and its pacing: EC2 meters the account, not the port.
 */
export class AwsSession {
  readonly connection: AwsConnection;
  readonly clock: Clock;
  readonly calls: AwsCalls;
  readonly #clients = new Map<new (settings: ClientSettings) => Client, Client>();
  readonly #credentials: Credentials;
  /** The session that may take the role, if there is one. */
  readonly #base: AwsSession | undefined;
  #sts: STSClient | undefined;

  constructor(options: AwsSessionOptions) {
    // The SDK's versions are pinned, so its warning about versions to come would only break the
    // log's lines.
    process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
    this.connection = options;
    this.clock = options.clock;
    this.calls = new AwsCalls(options);
    const { role, credentials, ...others } = options;
    const own = credentials === undefined ? {} : { credentials };
    this.#base = role === undefined ? undefined : new AwsSession({ ...others, ...own });
    this.#credentials =
      role === undefined || this.#base === undefined
        ? credentials
        : roleCredentials(this.#base, role);
  }

  /** The session's client of this class, made at first use. `region` counts at first use only. */
  client<T extends Client>(
    type: new (settings: ClientSettings) => T,
    region = this.connection.region,
  ): T {
    const known = this.#clients.get(type);
    if (known !== undefined) return known as T;
    const made = new type(clientSettings(this.connection, region, this.#credentials));
    this.#clients.set(type, made);
    return made;
  }

  /**
   * STS, by the client that the SDK's own credential providers use. That one finds no credentials
   * by itself, so it takes those that another client found.
   */
  sts(): STSClient {
    const { credentials } = this.client(EC2Client).config;
    this.#sts ??= new STSClient(
      clientSettings(this.connection, this.connection.region, credentials),
    );
    return this.#sts;
  }

  /** Ends the connections of every client. The session must not be used afterwards. */
  close(): void {
    for (const client of this.#clients.values()) client.destroy();
    this.#sts?.destroy();
    this.#base?.close();
  }
}
