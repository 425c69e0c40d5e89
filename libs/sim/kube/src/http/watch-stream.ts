import { StatusError } from '../model/errors.js';
import type { StoredObject } from '../model/objects.js';
import type { Selection } from '../store/list.js';
import { apiVersionOf, type ResourceType } from '../store/registry.js';
import { type Exchange, includeOf, metadataOnly, shapeOf, textOfObject } from './exchange.js';
import { tableOf } from './tables/table.js';

const bookmarkEveryMs = 30_000;
const longestMs = 45 * 60_000;

type Writer = {
  readonly event: (type: string, object: StoredObject) => void;
  readonly line: (type: string, text: string) => void;
};

function writerOf(exchange: Exchange, type: ResourceType): Writer {
  const shape = shapeOf(exchange);
  const include = includeOf(exchange);
  let headers = true;
  const line = (kind: string, text: string): void =>
    void exchange.response.write(`{"type":"${kind}","object":${text}}\n`);
  const event = (kind: string, object: StoredObject): void => {
    if (shape === 'object') return line(kind, textOfObject(object));
    if (shape === 'metadata') return line(kind, JSON.stringify(metadataOnly(object)));
    line(
      kind,
      JSON.stringify(
        tableOf(type, [object], {
          metadata: { resourceVersion: object.metadata.resourceVersion },
          nowMs: exchange.store.clock.nowMs(),
          include,
          headers,
        }),
      ),
    );
    headers = false;
  };
  return { event, line };
}

/** A bookmark: the watcher has seen every change up to the current revision. */
function bookmark(exchange: Exchange, type: ResourceType, annotations?: object): string {
  const metadata = {
    resourceVersion: String(exchange.store.state.revision),
    creationTimestamp: null,
    ...(annotations === undefined ? {} : { annotations }),
  };
  const shape = shapeOf(exchange);
  if (shape === 'table')
    return JSON.stringify({
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
      columnDefinitions: null,
      rows: [],
    });
  if (shape === 'metadata')
    return JSON.stringify({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
    });
  return JSON.stringify({ kind: type.kind, apiVersion: apiVersionOf(type), metadata });
}

function fromRevision(exchange: Exchange): number | undefined {
  const asked = exchange.query.get('resourceVersion') ?? '';
  if (asked === '' || asked === '0' || exchange.query.get('sendInitialEvents') === 'true')
    return undefined;
  const revision = Number(asked);
  if (!Number.isInteger(revision) || revision < 0)
    throw new StatusError({
      code: 400,
      reason: 'BadRequest',
      message: `resourceVersion: Invalid value: ${JSON.stringify(asked)}: must be a number`,
    });
  if (revision > exchange.store.state.revision)
    throw new StatusError({
      code: 410,
      reason: 'Expired',
      message: `too new resource version: ${revision} (${exchange.store.state.revision}): this server has started anew`,
    });
  return revision;
}

/**
 * Streams changes until the client leaves, its time is over, or the server closes. As in
 * Kubernetes, a forgotten revision is an ERROR event in the stream.
 */
export function streamWatch(exchange: Exchange, type: ResourceType, selection: Selection): void {
  const { response, query, store } = exchange;
  const writer = writerOf(exchange, type);
  response.writeHead(200, { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' });
  response.flushHeaders();
  let end = (): void => undefined;
  try {
    const from = fromRevision(exchange);
    end = store.watch(
      type,
      { ...selection, ...(from === undefined ? {} : { fromRevision: from }) },
      ({ type: kind, object }) => writer.event(kind, object),
    );
  } catch (thrown) {
    if (!(thrown instanceof StatusError)) throw thrown;
    writer.line('ERROR', JSON.stringify(thrown.toStatus()));
    response.end();
    return;
  }
  if (query.get('sendInitialEvents') === 'true')
    writer.line('BOOKMARK', bookmark(exchange, type, { 'k8s.io/initial-events-end': 'true' }));
  const asked = Number(query.get('timeoutSeconds') ?? 0) * 1000;
  // Real time, not the twin's: a clock that is moved on must not cut connections.
  const timeout = setTimeout(() => response.end(), asked > 0 ? asked : longestMs);
  const bookmarks =
    query.get('allowWatchBookmarks') === 'true'
      ? setInterval(() => writer.line('BOOKMARK', bookmark(exchange, type)), bookmarkEveryMs)
      : undefined;
  response.on('close', () => {
    end();
    clearTimeout(timeout);
    clearInterval(bookmarks);
  });
}
