import { connectNats } from '@dovetail/adapter-nats';
import { type Decision, type DecisionKind, followDecisions, inboxOf } from '@dovetail/contracts';
import { systemHash } from '@dovetail/runtime';
import { isBusReaderUrl, readBus } from '@dovetail/sim-bus';

/** Every decision since the lab began, as any subscriber sees them; none without a bus. */
export type DecisionRecorder = {
  readonly all: readonly Decision[];
  of(kind: DecisionKind): readonly Decision[];
  close(): Promise<void>;
};

export function recordDecisions(natsUrl: string, cluster: string): Promise<DecisionRecorder> {
  if (natsUrl === '')
    return Promise.resolve({ all: [], of: () => [], close: () => Promise.resolve() });
  const stop = new AbortController();
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
  };
  const nats = isBusReaderUrl(natsUrl)
    ? undefined
    : connectNats({
        servers: natsUrl.split(','),
        name: 'test-recorder',
        inboxPrefix: inboxOf(cluster, 'reader'),
        log,
      });
  const bus = nats ?? readBus(natsUrl);
  const all: Decision[] = [];
  const seen = new Set<string>();
  const following = (async () => {
    for await (const event of followDecisions({ bus, cluster, hash: systemHash }, stop.signal)) {
      if (event.kind !== 'decision' || seen.has(event.decision.id)) continue;
      seen.add(event.decision.id);
      all.push(event.decision);
    }
  })().catch(() => undefined);
  return Promise.resolve({
    all,
    of: (kind) => all.filter((decision) => decision.kind === kind),
    async close() {
      stop.abort();
      await following;
      await nats?.close();
    },
  });
}
