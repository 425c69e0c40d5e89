import {
  type NatsConnection,
  NatsConnectionImpl,
  type NodeConnectionOptions,
  setTransportFactory,
} from '@nats-io/transport-node';
import { nodeResolveHost, NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';

/**
 * A socket that ends when its connection does. The library leaves one open to which the server has
 * said nothing yet: each attempt would cost a socket more, and would keep a program from ending.
 */
class EndingTransport extends NodeTransport {
  override async close(error?: Error): Promise<void> {
    await super.close(error);
    if (!this.connected) this.discard();
  }
}

/** Connects as the library's `connect` does. Rejects with its errors. */
export function connectTo(options: NodeConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new EndingTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}
