import { connectNats } from '@dovetail/adapter-nats';
import { inboxOf } from '@dovetail/contracts';
import type { Bus, Log } from '@dovetail/core-ports';
import { isBusReaderUrl, readBus } from '@dovetail/sim-bus';

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The lab's bus for a reader: its nats-server, or the one inside its services' process. */
export function busOf(
  url: string,
  { name, cluster }: { readonly name: string; readonly cluster: string },
): { readonly bus: Bus; readonly close: () => Promise<void> } {
  if (isBusReaderUrl(url)) return { bus: readBus(url), close: () => Promise.resolve() };
  const inboxPrefix = inboxOf(cluster, 'reader');
  const bus = connectNats({ servers: [url], name, log: silent, inboxPrefix });
  return { bus, close: () => bus.close() };
}
