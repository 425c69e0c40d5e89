import { textOf } from '../model/json.js';
import type { ResourceQuota } from '../model/objects.js';
import { keyOf } from '../store/table.js';
import { quotaStatus, usageUnder } from '../strategies/quota.js';
import { type Controller, type ControllerContext, writeStatus } from './context.js';
import { WorkQueue } from './work-queue.js';

/** Keeps the used amounts in each ResourceQuota's status. */
export function quotaController(context: ControllerContext): Controller {
  const { store } = context;
  const table = store.state.table('resourcequotas');
  const work = (key: string): void => {
    const quota = table.get(key) as ResourceQuota | undefined;
    if (quota === undefined) return;
    writeStatus(
      store,
      store.type('', 'v1', 'resourcequotas'),
      quota,
      quotaStatus(quota, usageUnder(quota, store.state)),
    );
  };
  const queue = new WorkQueue({
    clock: store.clock,
    work,
    onError: (key, error) => context.onError('resourcequota-controller', key, error),
  });
  for (const key of table.keys()) queue.add(key);
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.table === 'resourcequotas')
        return queue.add(keyOf(change.object.metadata.namespace, change.object.metadata.name));
      if (change.table !== 'pods' || table.size === 0) return;
      for (const quota of table.values())
        if (quota.metadata.namespace === change.object.metadata.namespace)
          queue.add(keyOf(quota.metadata.namespace, quota.metadata.name));
    },
  };
}

const eventsKeptMs = 3_600_000;

/** Forgets Events an hour after they were last seen, as kube-apiserver does by default. */
export function eventExpiry(context: ControllerContext): Controller {
  const { store } = context;
  const work = (key: string): void => {
    const event = store.state.table('events').get(key);
    if (event === undefined) return;
    const last = Date.parse(
      textOf(event['lastTimestamp']) ||
        textOf(event['eventTime']) ||
        event.metadata.creationTimestamp,
    );
    const leftMs = last + eventsKeptMs - store.clock.nowMs();
    if (leftMs > 0) queue.addAfter(key, leftMs);
    else store.delete(store.type('', 'v1', 'events'), event.metadata);
  };
  const queue: WorkQueue = new WorkQueue({
    clock: store.clock,
    work,
    onError: (key, error) => context.onError('event-expiry', key, error),
  });
  return {
    stop: () => queue.stop(),
    heard: (change) => {
      if (change.table === 'events' && change.kind === 'added')
        queue.addAfter(
          keyOf(change.object.metadata.namespace, change.object.metadata.name),
          eventsKeptMs,
        );
    },
  };
}
