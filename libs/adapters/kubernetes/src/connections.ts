import { type KubeConfig, RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';

/** How a request gets to the API server: who asks, and over which connections. */
export type Way = { readonly headers: Readonly<Record<string, string>>; readonly dispatcher: Dispatcher };

/** Requests at once: above what a launcher sends side by side, so that a claim never waits in line behind bindings. */
const connectionsMax = 128;
/** The API server closes idle connections after 90 s. Until then a burst of requests must not begin with handshakes. */
const keepAliveMs = 60_000;
/** Certificates and tokens are rotated: connections and headers are made anew after a while, long before what they were made of ends. */
const connectionsAgeMs = 5 * 60_000;
const headersAgeMs = 10_000;

/**
 * The connections to one API server. The library would make a set for every request, a TLS handshake each. Here requests share a bounded
 * set that stays open, and watches, each of which holds a connection for as long as it lasts, have a set of their own. Both are
 * followed by newer ones after a while; what is under way on the old ones goes on to its end.
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

  async to(kind: 'request' | 'watch'): Promise<Way> {
    const context = await this.#authenticated();
    return { headers: context.getHeaders(), dispatcher: (await this.#current(context))[kind] };
  }

  /** Asking the library reads files, or runs a program: not for every request. */
  async #authenticated(): Promise<RequestContext> {
    const nowMs = performance.now();
    if (this.#context === undefined || nowMs - this.#contextSinceMs >= headersAgeMs) {
      const context = new RequestContext(this.#server, 'GET');
      this.#contextSinceMs = nowMs;
      this.#context = this.#config.applySecurityAuthentication(context).then(() => context);
      // What failed is tried again by the next request.
      this.#context.catch(() => (this.#context = undefined));
    }
    return this.#context;
  }

  async #current(context: RequestContext): Promise<{ readonly request: Dispatcher; readonly watch: Dispatcher }> {
    const nowMs = performance.now();
    if (this.#sets !== undefined && nowMs - this.#setsSinceMs < connectionsAgeMs) return this.#sets;
    const before = this.#sets;
    this.#setsSinceMs = nowMs;
    this.#sets = await this.#make(context);
    for (const old of new Set([before?.request, before?.watch])) void old?.close().catch(() => undefined);
    return this.#sets;
  }

  async #make(context: RequestContext): Promise<{ readonly request: Dispatcher; readonly watch: Dispatcher }> {
    const tls = {};
    await this.#config.applyToHTTPSOptions(tls);
    const options = this.#config.createDispatcherOptions(this.#config.getCurrentCluster(), tls);
    const own = context.getDispatcher();
    // A proxy is the library's business.
    if (options.type !== 'agent' && options.type !== 'none' && own !== undefined) return { request: own, watch: own };
    const shared = { keepAliveTimeout: keepAliveMs, ...(options.type === 'agent' ? { connect: options.connect as NonNullable<Agent.Options['connect']> } : {}) };
    return { request: new Agent({ ...shared, connections: connectionsMax }), watch: new Agent(shared) };
  }
}
