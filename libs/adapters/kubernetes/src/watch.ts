import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import {
  KubeError,
  type KubeObject,
  type KubeResource,
  type Log,
  type StopSignal,
  type WatchEvent,
  type WatchReach,
} from '@dovetail/core-ports';

import {
  abortOn,
  codeOf,
  messageWithCause,
  pathOf,
  type Rest,
  type RestResponse,
  type Status,
} from './rest.js';

/** Which objects to watch, and how to project each of them. */
export type WatchOptions<T> = {
  readonly resource: KubeResource;
  readonly project: (object: KubeObject) => T;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** Told of each failure, and of each time that the watch is open. */
  readonly reach?: (reach: WatchReach) => void;
};

type Page = { metadata: { resourceVersion: string; continue?: string }; items: KubeObject[] };
type Identity = { readonly name: string; readonly namespace?: string };

/** Objects in one page of a list, as client-go's pager asks for them. */
const pageSize = 500;
/**
 * Objects that a watch takes in one turn of the event loop. Node.js reads up to 2 MB of a socket in
 * one turn, which is hundreds of pods; a pod takes a service about 0.2 ms. More objects would hold
 * up Lease renewals and probes, fewer would cost a turn each.
 */
const objectsPerTurn = 50;
/**
 * The wait after a failure doubles from the first to the longest: quick after a hiccup, and gentle
 * on a server that is down.
 */
const backoffMs = { first: 100, most: 10_000 };
/**
 * A silent watch counts as dead after this time and is opened again. Bookmarks come about every
 * minute.
 */
const silenceMaxMs = 150_000;

/**
 * Watches one resource until `stop`. It lists in pages and then follows. When the connection ends
 * it resumes at the last event. It lists again when the server has forgotten that point (410) or
 * has not reached it (504 with "too large resource version"), and reports objects that vanished in
 * between as gone. If the versions have gone back meanwhile, it says so before the list.
 */
export async function* watchResource<T>(
  rest: Rest,
  log: Log,
  options: WatchOptions<T>,
  stop: StopSignal,
): AsyncGenerator<WatchEvent<T>> {
  const known = new Map<string, Identity>();
  let version: string | undefined;
  // The last version that was reached, also while `version` is unknown.
  let reached = '';
  let failures = 0;
  let relists = 0;
  const aborter = abortOn(stop);
  try {
    while (!stop.aborted) {
      try {
        version ??= yield* listAll(rest, options, { known, reached }, aborter.signal);
        reached = version;
        version = reached = yield* follow(rest, options, known, version, aborter.signal);
        failures = relists = 0;
      } catch (error) {
        if (stop.aborted) return;
        const isGone = error instanceof KubeError && error.code === 'gone';
        options.reach?.({ kind: 'lost', error });
        if (isGone) version = undefined;
        // A list helps at once, unless the watch after it is refused as well.
        if (!isGone || ++relists > 1)
          await pause(log, options.resource, error, failures++, aborter.signal);
      }
    }
  } finally {
    aborter.release();
  }
}

async function pause(
  log: Log,
  resource: KubeResource,
  error: unknown,
  failures: number,
  signal: AbortSignal,
): Promise<void> {
  const waitMs = Math.min(backoffMs.most, backoffMs.first * 2 ** failures);
  const missing = error instanceof KubeError && error.code === 'no-such-resource';
  log.warn(
    missing ? 'resource-not-served' : 'watch-failed',
    missing
      ? `the API server does not serve ${resource.plural}.${resource.group}; apply deploy/crds`
      : `watching ${resource.plural} failed: ${messageWithCause(error)}; it will be retried`,
    { resource: resource.plural, retryInMs: waitMs },
  );
  await delay(waitMs, undefined, { signal }).catch(() => undefined);
}

async function* listAll<T>(
  rest: Rest,
  options: WatchOptions<T>,
  { known, reached }: { readonly known: Map<string, Identity>; readonly reached: string },
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, string> {
  const seen = new Set<string>();
  let next: string | undefined;
  let version = '';
  do {
    const page: Page = await rest.json<Page>({
      method: 'GET',
      path: pathOf(options.resource),
      signal: AbortSignal.any([signal, AbortSignal.timeout(60_000)]),
      query: {
        limit: pageSize,
        continue: next,
        fieldSelector: options.fieldSelector,
        labelSelector: options.labelSelector,
      },
    });
    if (version === '' && isBehind(page.metadata.resourceVersion, reached))
      yield { kind: 'restored' };
    for await (const object of inTurns(page.items)) {
      const uid = remember(known, object);
      seen.add(uid);
      yield { kind: 'set', value: options.project(object) };
    }
    version = page.metadata.resourceVersion;
    next = page.metadata.continue || undefined;
  } while (next !== undefined);
  for (const [uid, identity] of known) {
    if (seen.has(uid)) continue;
    known.delete(uid);
    yield { kind: 'gone', uid, ...identity };
  }
  yield { kind: 'synced' };
  return version;
}

const decimal = /^[0-9]+$/;

/** Whether a version is known to be before another. The API server's are decimal numbers. */
const isBehind = (version: string, reached: string): boolean =>
  decimal.test(version) && decimal.test(reached) && BigInt(version) < BigInt(reached);

function remember(known: Map<string, Identity>, object: KubeObject): string {
  const { uid = '', name, namespace } = object.metadata;
  known.set(uid, { name, ...(namespace === undefined ? {} : { namespace }) });
  return uid;
}

async function* follow<T>(
  rest: Rest,
  options: WatchOptions<T>,
  known: Map<string, Identity>,
  from: string,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<T>, string> {
  let version = from;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), silenceMaxMs);
  const body = await openWatch(rest, options, from, AbortSignal.any([signal, silence.signal]));
  options.reach?.({ kind: 'following' });
  try {
    for await (const line of inTurns(linesOf(body))) {
      timer.refresh();
      const event = eventOf(line);
      if (event === undefined) continue;
      version = event.object.metadata.resourceVersion ?? version;
      if (event.type !== 'BOOKMARK') yield changeOf(event, known, options.project);
    }
  } catch (error) {
    // The connection broke. Delivered events count, and the next watch begins after the last of
    // them.
    if (error instanceof KubeError || signal.aborted) throw error;
    // Changes may wait since the silence began.
    if (silence.signal.aborted) options.reach?.({ kind: 'lost', error });
  } finally {
    clearTimeout(timer);
    body.destroy();
  }
  return version;
}

async function openWatch(
  rest: Rest,
  options: Pick<WatchOptions<unknown>, 'resource' | 'fieldSelector' | 'labelSelector'>,
  from: string,
  signal: AbortSignal,
): Promise<RestResponse['body']> {
  const { body } = await rest.send({
    kind: 'watch',
    method: 'GET',
    path: pathOf(options.resource),
    signal,
    query: {
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: from,
      fieldSelector: options.fieldSelector,
      labelSelector: options.labelSelector,
    },
  });
  // To the client, stopping in the middle is an error. To us it is not.
  body.on('error', () => undefined);
  return body;
}

/** The change that an event reports. `known` is kept up to date with it. */
function changeOf<T>(
  event: RawEvent,
  known: Map<string, Identity>,
  project: (object: KubeObject) => T,
): WatchEvent<T> {
  const uid = remember(known, event.object);
  if (event.type !== 'DELETED') return { kind: 'set', value: project(event.object) };
  const identity = known.get(uid) ?? { name: event.object.metadata.name };
  known.delete(uid);
  return { kind: 'gone', uid, ...identity };
}

/** The same items. Other work of the process gets its turn after each `objectsPerTurn` of them. */
async function* inTurns<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  let taken = 0;
  for await (const item of items) {
    yield item;
    taken += 1;
    if (taken % objectsPerTurn === 0) await nextTurn();
  }
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let begun = '';
  for await (const chunk of chunks) {
    const lines = (begun + decoder.decode(chunk, { stream: true })).split('\n');
    begun = lines.pop() ?? '';
    yield* lines;
  }
  yield begun;
}

type RawEvent = { type: string; object: KubeObject & Status & { code?: number } };

function eventOf(line: string): RawEvent | undefined {
  if (line.trim() === '') return undefined;
  let event: RawEvent;
  try {
    event = JSON.parse(line) as RawEvent;
  } catch {
    // A broken connection cut the line off. The next watch delivers the event again.
    return undefined;
  }
  if (event.type !== 'ERROR') return event;
  throw new KubeError(
    codeOf(event.object.code ?? 0, event.object) === 'gone' ? 'gone' : 'unavailable',
    `the watch ended: ${event.object.message ?? 'no reason given'}`,
  );
}
