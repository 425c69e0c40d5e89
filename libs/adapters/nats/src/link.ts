import {
  BusError,
  type BusErrorCode,
  messageOf,
  neverStopping,
  type StopSignal,
} from '@dovetail/core-ports';
import {
  AuthorizationError,
  createInbox,
  type NatsConnection,
  PermissionViolationError,
  type Status,
  UserAuthenticationExpiredError,
} from '@nats-io/transport-node';

import {
  authenticatorOf,
  isAtLeast,
  type NatsOptions,
  type NatsState,
  natsVersionMin,
} from './options.js';
import { pause } from './signal.js';
import { connectTo } from './transport.js';

/**
 * Pause between attempts to connect. It trades attempts in vain for the delay once a server is
 * back.
 */
const retryMs = 500;
/**
 * Pause after a server of a version that is too old. It answers, but only an upgrade helps: no
 * haste.
 */
const retryTooOldMs = 3_000;
/** How long closing waits for unsent messages. It trades the last of them for a prompt end. */
const drainMs = 1_000;
/** A lasting cause is logged again after this many attempts, about every 15 s. */
const sayAgainEvery = 30;

/**
 * The one connection of a service. It is made in the background, kept for ever, and logs its state.
 */
export class NatsLink {
  readonly #options: NatsOptions;
  readonly #ended = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #restored = new Set<() => void>();
  #connection: NatsConnection | undefined;
  #state: NatsState = 'connecting';
  #failures = 0;

  /** Throws when the credentials cannot be read. */
  constructor(options: NatsOptions) {
    this.#options = options;
    // A key that cannot be read is no server that is away: it will not come back.
    if (options.credentials !== undefined) authenticatorOf(options.credentials);
    void this.#keep();
  }

  get state(): NatsState {
    return this.#state;
  }

  get timeoutMs(): number {
    return this.#options.timeoutMs ?? 5_000;
  }

  /** A new subject on which this connection may receive. */
  newInbox(): string {
    return createInbox(this.#options.inboxPrefix);
  }

  /** The connection, once it is up. Rejects with BusError after `waitMs`. */
  async connection(waitMs: number = this.timeoutMs): Promise<NatsConnection> {
    // A step of the wall clock must neither end nor lengthen the wait.
    const untilMs = performance.now() + waitMs;
    while (this.#state !== 'connected' || this.#connection === undefined) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0 || this.#state === 'closed')
        throw new BusError(
          codeOf(this.#state),
          `NATS at ${this.#options.servers.join(', ')}: ${this.#state}`,
        );
      await this.#change(leftMs);
    }
    return this.#connection;
  }

  /**
   * Waits for the connection without limit. Undefined once `stop` is aborted or the link is closed.
   */
  async connectionUnless(stop: StopSignal): Promise<NatsConnection | undefined> {
    while (!stop.aborted && this.#state !== 'closed') {
      if (this.#state === 'connected' && this.#connection !== undefined) return this.#connection;
      await this.#change(1_000);
    }
    return undefined;
  }

  /**
   * Calls back after each connect and reconnect, because the server may have forgotten
   * subscriptions.
   */
  onRestored(listener: () => void): () => void {
    this.#restored.add(listener);
    return () => this.#restored.delete(listener);
  }

  /** Sends pending messages and closes. */
  async close(): Promise<void> {
    const connection = this.#connection;
    this.#ended.abort();
    this.#become('closed');
    if (connection === undefined || connection.isClosed()) return;
    // Draining needs the server. Without it, unsent messages stay unsent.
    await Promise.race([connection.drain().catch(() => undefined), pause(drainMs, neverStopping)]);
    if (!connection.isClosed()) await connection.close();
  }

  async #keep(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const connection = await this.#connect();
      if (connection === undefined) continue;
      this.#connection = connection;
      this.#up(connection);
      void this.#watch(connection);
      const error = await connection.closed();
      this.#connection = undefined;
      if (error instanceof Error) this.#refused(error);
    }
  }

  async #connect(): Promise<NatsConnection | undefined> {
    const { servers, name, credentials, tls, inboxPrefix } = this.#options;
    try {
      const connection = await connectTo({
        servers: [...servers],
        name,
        timeout: this.timeoutMs,
        maxReconnectAttempts: -1,
        // The library waits 2 s. Plans wait for the bus, so ours is shorter; the jitter is the
        // library's.
        reconnectTimeWait: 250,
        reconnectJitter: 100,
        // A server that fell silent is noticed within 30 s. The library's 2 min would take six.
        pingInterval: 10_000,
        maxPingOut: 2,
        ignoreAuthErrorAbort: true,
        // Otherwise the library takes two stack traces for each request, against a failure of it.
        // Every publish is one; that was a tenth of pod-watcher's time in a scale-up.
        noAsyncTraces: true,
        ...(credentials === undefined ? {} : { authenticator: authenticatorOf(credentials) }),
        ...(tls === undefined ? {} : { tls }),
        ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
      });
      if (!this.#ended.signal.aborted && this.#usable(connection)) return connection;
      await connection.close();
      await pause(retryTooOldMs, this.#ended.signal);
    } catch (error) {
      this.#refused(error);
      await pause(retryMs, this.#ended.signal);
    }
    return undefined;
  }

  #usable(connection: NatsConnection): boolean {
    const version = connection.info?.version ?? '0';
    if (isAtLeast(version, natsVersionMin)) return true;
    this.#become('server-too-old');
    this.#say(
      'nats-server-too-old',
      `nats-server at ${connection.getServer()} is ${version}; ${natsVersionMin} or later is needed, waiting for one`,
      { version },
    );
    return false;
  }

  #refused(error: unknown): void {
    const denied =
      error instanceof AuthorizationError || error instanceof UserAuthenticationExpiredError;
    const text = messageOf(error);
    const { servers } = this.#options;
    if (this.#state !== 'closed') this.#become(denied ? 'denied' : 'unreachable');
    if (denied)
      this.#say(
        'nats-denied',
        `NATS at ${servers.join(', ')} refuses these credentials (${text}); check them; it will be retried`,
        { servers },
      );
    else
      this.#say(
        'nats-unreachable',
        `NATS at ${servers.join(', ')} does not answer (${text}); waiting for it`,
        { servers },
      );
  }

  /** Logs a lasting cause once, and again after many attempts. */
  #say(name: string, message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#options.metrics?.count('dovetail_nats_failures_total', { reason: name });
    if (this.#failures % sayAgainEvery === 0) this.#options.log.warn(name, message, fields);
    this.#failures += 1;
  }

  #up(connection: NatsConnection): void {
    this.#failures = 0;
    this.#become('connected');
    this.#options.log.info(
      'nats-connected',
      `connected to NATS ${connection.info?.version ?? ''} at ${connection.getServer()}`,
      { server: connection.getServer(), version: connection.info?.version },
    );
    for (const listener of [...this.#restored]) listener();
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) this.#noticed(connection, status);
  }

  #noticed(connection: NatsConnection, status: Status): void {
    if (this.#state === 'closed') return;
    // A server that refuses each try to reconnect disconnects each time; that was reported.
    if (status.type === 'disconnect' && this.#state === 'connected') {
      this.#become('disconnected');
      this.#options.metrics?.count('dovetail_nats_failures_total', { reason: 'nats-disconnected' });
      this.#options.log.warn(
        'nats-disconnected',
        `NATS at ${status.server} went away; reconnecting`,
        { server: status.server },
      );
    }
    if (status.type === 'reconnect') {
      if (this.#usable(connection)) this.#up(connection);
      else void connection.close();
    }
    if (status.type === 'error') this.#complained(status.error);
  }

  #complained(error: Error): void {
    if (error instanceof PermissionViolationError) {
      this.#options.log.error(
        'nats-permission',
        `NATS does not let this service ${error.operation} ${error.subject}; grant it in the account's permissions`,
        { operation: error.operation, subject: error.subject },
      );
      return;
    }
    if (error instanceof AuthorizationError) this.#refused(error);
    else this.#options.log.warn('nats-error', error.message);
  }

  #become(state: NatsState): void {
    this.#state = state;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  #change(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, waitMs);
      this.#waiting.add(end);
    });
  }
}

const codeOf = (state: NatsState): BusErrorCode =>
  state === 'denied' || state === 'server-too-old' ? state : 'unavailable';
