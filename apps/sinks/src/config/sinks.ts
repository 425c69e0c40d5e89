import { eventBridge, slack, webhook } from '@dovetail/adapter-sinks';
import type { DecisionKind } from '@dovetail/contracts';
import type { Clock, Receiver } from '@dovetail/core-ports';
import type { SinkSpec } from '@dovetail/service-sinks';

import { Fields } from './fields.js';
import {
  choice,
  codes,
  duration,
  eventBus,
  headers,
  httpUrl,
  kinds,
  poolNames,
  region,
  secret,
  signingKey,
  sinkName,
} from './parsers.js';

/** The kinds that ask for a person. A channel of all decisions would not be read. */
const slackKinds: readonly DecisionKind[] = [
  'launch-failed',
  'unschedulable',
  'interrupt',
  'collect',
];

const defaults = { timeoutMs: 10_000, giveUpAfterMs: 24 * 3_600_000 } as const;

/** The sinks of the file, or all faults of it, each with its field, value and remedy. */
export type ReadSinks =
  | { readonly ok: true; readonly sinks: readonly SinkSpec[] }
  | { readonly ok: false; readonly faults: readonly string[] };

/** Reads the sinks. Files and variables that it names are read, too. */
export function readSinks(document: unknown, clock: Pick<Clock, 'nowMs'>): ReadSinks {
  const faults: string[] = [];
  const root = new Fields('', document, faults);
  const sinks = root.list('sinks').flatMap((fields) => sinkOf(fields, clock) ?? []);
  root.end();
  const names = sinks.map(({ name }) => name);
  for (const name of new Set(names.filter((each, at) => names.indexOf(each) !== at)))
    faults.push(`sinks: two have the name ${JSON.stringify(name)}: give each its own`);
  return faults.length === 0 ? { ok: true, sinks } : { ok: false, faults };
}

function sinkOf(fields: Fields, clock: Pick<Clock, 'nowMs'>): SinkSpec | undefined {
  const name = fields.required('name', sinkName);
  const given = {
    kinds: fields.optional('kinds', kinds),
    reasons: fields.optional('reasons', codes),
    pools: fields.optional('pools', poolNames),
  };
  const from = fields.optional('from', choice('now', 'first')) ?? 'now';
  const giveUpAfterMs =
    fields.optional('giveUpAfter', duration({ least: '1m', most: '24h' })) ??
    defaults.giveUpAfterMs;
  const receiver = receiverOf(fields, clock);
  fields.end();
  if (name === undefined || receiver === undefined) return undefined;
  const asked = { ...(fields.has('slack') ? { kinds: slackKinds } : {}), ...present(given) };
  return { name, receiver, from, giveUpAfterMs, ...asked };
}

const receivers = { webhook: webhookOf, slack: slackOf, eventBridge: eventBridgeOf };

function receiverOf(fields: Fields, clock: Pick<Clock, 'nowMs'>): Receiver | undefined {
  const named = Object.entries(receivers).filter(([name]) => fields.has(name));
  const [[name, make] = []] = named;
  if (named.length === 1 && name !== undefined && make !== undefined)
    return make(fields.inner(name), clock);
  fields.refuse(`give exactly one of ${Object.keys(receivers).join(', ')}`);
  return undefined;
}

const timeout = duration({ least: '100ms', most: '1m' });

function webhookOf(fields: Fields, clock: Pick<Clock, 'nowMs'>): Receiver | undefined {
  const url = fields.required('url', secret(httpUrl));
  const mode = fields.optional('mode', choice('structured', 'binary')) ?? 'structured';
  const key = fields.optional('signingKey', secret(signingKey));
  const further = fields.optional('headers', headers) ?? {};
  const timeoutMs = fields.optional('timeout', timeout) ?? defaults.timeoutMs;
  fields.end();
  if (url === undefined) return undefined;
  const signed = key === undefined ? {} : { signingKey: key };
  return webhook({ url, mode, headers: further, timeoutMs, clock, ...signed });
}

function slackOf(fields: Fields, clock: Pick<Clock, 'nowMs'>): Receiver | undefined {
  const url = fields.required('url', secret(httpUrl));
  const timeoutMs = fields.optional('timeout', timeout) ?? defaults.timeoutMs;
  fields.end();
  return url === undefined ? undefined : slack({ url, timeoutMs, clock });
}

function eventBridgeOf(fields: Fields): Receiver | undefined {
  const place = fields.required('region', region);
  const bus = fields.optional('bus', eventBus) ?? 'default';
  const endpoint = fields.optional('endpoint', httpUrl);
  const timeoutMs = fields.optional('timeout', timeout) ?? defaults.timeoutMs;
  fields.end();
  if (place === undefined) return undefined;
  const other = endpoint === undefined ? {} : { endpoint };
  return eventBridge({ region: place, bus, timeoutMs, ...other });
}

/** The fields that are there. */
function present<T extends object>(given: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}
