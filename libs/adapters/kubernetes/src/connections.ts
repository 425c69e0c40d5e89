import { type KubeConfig, RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';

/** The headers and connections of a request: who asks, and over which sockets. */
export type Way = {
  readonly headers: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
};

/**
 * Requests at once. More than a launcher sends side by side, so that no claim waits behind
 * bindings.
 */
const connectionsMax = 128;
/**
 * The API server closes idle connections after 90 s. We keep them for less, so that a burst needs
 * no handshakes.
 */
const keepAliveMs = 60_000;
/**
 * Certificates and tokens rotate. Connections and headers are renewed long before their certificate
 * or token expires.
 */
const connectionsAgeMs = 5 * 60_000;
const headersAgeMs = 10_000;

/**
 * The connections to one API server. The library would open a set for every request, with a TLS
 * handshake each. Here requests share a bounded set that stays open. Watches have a set of their
 * own, because each holds its connection while it lasts. Newer sets replace both after a while, and
 * requests on the old sets run to their end.
 */
export class Connections {
  readonly #config: KubeConfig;
  readonly #server: string;
  #sets: { readonly request: Dispatcher; readonly watch: Dispatcher } | undefined;
  #setsSinceMs = 0;
  #context: Promise<RequestContext> | undefined;
  #contextSinceMs = 0;

  constructor(config: KubeConfig, server: string) {
    this.#config = config;
    this.#server = server;
  }

  /** The headers and connections for a request of this kind. */
  async to(kind: 'request' | 'watch'): Promise<Way> {
    const context = await this.#authenticated();
    return { headers: context.getHeaders(), dispatcher: (await this.#current(context))[kind] };
  }

  /** The library reads files or runs a program for this, so not every request asks it. */
  async #authenticated(): Promise<RequestContext> {
    const nowMs = performance.now();
    if (this.#context === undefined || nowMs - this.#contextSinceMs >= headersAgeMs) {
      const context = new RequestContext(this.#server, 'GET');
      this.#contextSinceMs = nowMs;
      this.#context = this.#config.applySecurityAuthentication(context).then(() => context);
      // After a failure the next request asks again.
      this.#context.catch(() => (this.#context = undefined));
    }
    return this.#context;
  }

  async #current(
    context: RequestContext,
  ): Promise<{ readonly request: Dispatcher; readonly watch: Dispatcher }> {
    const nowMs = performance.now();
    if (this.#sets !== undefined && nowMs - this.#setsSinceMs < connectionsAgeMs) return this.#sets;
    const before = this.#sets;
    this.#setsSinceMs = nowMs;
    this.#sets = await this.#make(context);
    for (const old of new Set([before?.request, before?.watch]))
      void old?.close().catch(() => undefined);
    return this.#sets;
  }

  async #make(
    context: RequestContext,
  ): Promise<{ readonly request: Dispatcher; readonly watch: Dispatcher }> {
    const tls = {};
    await this.#config.applyToHTTPSOptions(tls);
    const options = this.#config.createDispatcherOptions(this.#config.getCurrentCluster(), tls);
    const own = context.getDispatcher();
    // The library handles proxies.
    if (options.type !== 'agent' && options.type !== 'none' && own !== undefined)
      return { request: own, watch: own };
    const shared = {
      keepAliveTimeout: keepAliveMs,
      ...(options.type === 'agent'
        ? { connect: options.connect as NonNullable<Agent.Options['connect']> }
        : {}),
    };
    return {
      request: new Agent({ ...shared, connections: connectionsMax }),
      watch: new Agent(shared),
    };
  }
}
