import { lookUp } from '@dovetail/core-invariant';
import { BusError, type StreamSpec } from '@dovetail/core-ports';
import type { NatsConnection } from '@nats-io/transport-node';

import { api, ApiError, busErrorOf, faults, nanos, type StreamInfo, streamInfo } from './api.js';

/**
 * JetStream's configuration of a stream. A stream of state refuses messages that do not fit; queues
 * and logs lose their oldest.
 */
function streamConfig(spec: StreamSpec, replicas: number): Readonly<Record<string, unknown>> {
  return {
    name: spec.name,
    subjects: [...spec.subjects],
    storage: 'file',
    num_replicas: replicas,
    retention: spec.keep === 'work' ? 'workqueue' : 'limits',
    max_msgs_per_subject: spec.keep === 'log' ? -1 : 1,
    discard: spec.keep === 'last' ? 'new' : 'old',
    max_age: nanos(spec.maxAgeMs ?? 0),
    max_bytes: spec.maxBytes,
    max_msgs: -1,
    max_consumers: -1,
    max_msg_size: -1,
    duplicate_window: nanos(spec.duplicateWindowMs),
    allow_direct: true,
    allow_msg_ttl: spec.keep === 'last',
  };
}

/** The copies of a stream: those that are wanted, and never fewer than an administrator gave it. */
export function replicasOf(info: Pick<StreamInfo, 'config'> | undefined, wanted: number): number {
  const held = info?.config['num_replicas'];
  return typeof held === 'number' ? Math.max(held, wanted) : wanted;
}

const differs = (info: StreamInfo, wanted: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(wanted).some(
    ([key, value]) =>
      JSON.stringify(lookUp(info.config, key) ?? defaultOf(value)) !== JSON.stringify(value),
  );
/** The server leaves out what is false or zero. */
const defaultOf = (value: unknown): unknown =>
  typeof value === 'boolean' ? false : typeof value === 'number' ? 0 : undefined;

/**
 * Rejects with BusError `no-stream` while a stream is missing, or holds other subjects. For clients
 * that may not make it.
 */
export async function awaitStream(
  connection: NatsConnection,
  { name, subjects }: StreamSpec,
  timeoutMs: number,
): Promise<void> {
  const info = await streamInfo(connection, name, timeoutMs);
  const held = info?.config['subjects'];
  const remedy = '`dovetail nats-streams` makes it, with the credentials of the user `streams`';
  if (info === undefined) throw new BusError('no-stream', `there is no stream ${name}: ${remedy}`);
  if (JSON.stringify(held) !== JSON.stringify(subjects))
    throw new BusError(
      'no-stream',
      `stream ${name} holds ${JSON.stringify(held)} instead of ${JSON.stringify(subjects)}: ${remedy}`,
    );
}

/** Makes a missing stream, and updates one that differs. Two clients that do so at once agree. */
export async function ensureStream(
  connection: NatsConnection,
  spec: StreamSpec,
  options: { readonly replicas: number; readonly timeoutMs: number },
): Promise<void> {
  const { timeoutMs } = options;
  const info = await streamInfo(connection, spec.name, timeoutMs);
  const wanted = streamConfig(spec, replicasOf(info, options.replicas));
  if (info !== undefined && !differs(info, wanted)) return;
  try {
    await api(
      connection,
      `STREAM.${info === undefined ? 'CREATE' : 'UPDATE'}.${spec.name}`,
      wanted,
      timeoutMs,
    );
  } catch (error) {
    if (error instanceof ApiError && error.code === faults.streamNameTaken) return;
    // The stream has another shape and cannot be updated, for example because someone made it by
    // hand. The remedy is to delete it.
    if (error instanceof ApiError)
      throw new BusError(
        'unavailable',
        `${error.message}; delete stream ${spec.name} or give the server more storage`,
        { cause: error },
      );
    throw busErrorOf(error, `stream ${spec.name}`);
  }
}
