import {
  EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
  type PutEventsResultEntry,
} from '@aws-sdk/client-eventbridge';
import { messageOf, type Outcome, type Parcel, type Receiver } from '@dovetail/core-ports';

import { structuredJson } from './webhook.js';

/** A bus of Amazon EventBridge. */
export type EventBridgeOptions = {
  readonly region: string;
  /** Name or ARN of the bus. */
  readonly bus: string;
  /** Another endpoint, for twins and private stand-ins. Absent: AWS' own. */
  readonly endpoint?: string;
  readonly timeoutMs: number;
};

/** The most entries of one PutEvents, by AWS' reference. */
const entriesMax = 10;

/**
 * The most bytes of one PutEvents that AWS takes everywhere. A larger single event is tried alone.
 */
const bytesMax = 256 * 1024;

/** Codes that AWS' guide calls worth another try, and those of credentials that are renewed. */
const passing =
  /^(Throttling|ThrottlingException|TooManyRequests\w*|InternalFailure|InternalException|ServiceUnavailable\w*|RequestTimeout\w*|ExpiredToken\w*|CredentialsProviderError|RequestExpired|TimeoutError)$/;

/**
 * Puts events on a bus, up to ten in a call. `Source` and `DetailType` are source and type of the
 * CloudEvent, and `Detail` is the whole of it as JSON. EventBridge promises no order.
 */
export function eventBridge(options: EventBridgeOptions): Receiver {
  const { region, endpoint, timeoutMs } = options;
  // The SDK's versions are pinned, so its warning about versions to come would only break the log.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const client = new EventBridgeClient({
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    // The sink tries again itself.
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
    },
  });
  return {
    batchMax: entriesMax,
    async deliver(parcels) {
      const outcomes: Outcome[] = [];
      for (const entries of inCalls(parcels.map((parcel) => entryOf(parcel, options))))
        outcomes.push(...(await put(client, entries)));
      return outcomes;
    },
    close: () => client.destroy(),
  };
}

function entryOf({ event }: Parcel, { bus }: EventBridgeOptions): PutEventsRequestEntry {
  const { source, type, subject, time } = event;
  return {
    EventBusName: bus,
    Source: source,
    DetailType: type,
    Detail: structuredJson(event),
    ...(subject === undefined ? {} : { Resources: [subject] }),
    ...(time === undefined ? {} : { Time: new Date(time) }),
  };
}

/** By AWS' rule: 14 for the time, and the bytes of source, type, detail and resources. */
const bytesOf = ({ Source, DetailType, Detail, Resources = [] }: PutEventsRequestEntry): number =>
  14 + Buffer.byteLength([Source, DetailType, Detail, ...Resources].join(''));

function inCalls(entries: readonly PutEventsRequestEntry[]): readonly PutEventsRequestEntry[][] {
  const calls: PutEventsRequestEntry[][] = [];
  let bytes = bytesMax;
  for (const entry of entries) {
    const own = bytesOf(entry);
    if (bytes + own > bytesMax) {
      calls.push([]);
      bytes = 0;
    }
    calls.at(-1)?.push(entry);
    bytes += own;
  }
  return calls;
}

async function put(
  client: EventBridgeClient,
  entries: PutEventsRequestEntry[],
): Promise<readonly Outcome[]> {
  try {
    const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: entries }));
    return entries.map((_, index) => outcomeOf(Entries[index]));
  } catch (error) {
    const code = error instanceof Error ? error.name : '';
    const reason = `EventBridge: ${code}: ${messageOf(error)}`;
    // One event may be at fault for all of a call, so each is tried by itself.
    const isFinal = isRefusal(error) && entries.length === 1;
    return entries.map(() => ({ kind: isFinal ? 'refused' : 'again', reason }));
  }
}

function outcomeOf(entry: PutEventsResultEntry | undefined): Outcome {
  if (entry === undefined) return { kind: 'again', reason: 'EventBridge left an entry out' };
  const { ErrorCode: code, ErrorMessage: message = '' } = entry;
  if (code === undefined || code === '') return { kind: 'taken' };
  return {
    kind: passing.test(code) ? 'again' : 'refused',
    reason: `EventBridge: ${code}: ${message}`,
  };
}

/** Whether AWS understood the call, and will not take it. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error) || passing.test(error.name)) return false;
  const { $metadata: metadata } = error as { readonly $metadata?: { httpStatusCode?: number } };
  const status = metadata?.httpStatusCode ?? 0;
  return status >= 400 && status < 500 && status !== 429;
}
