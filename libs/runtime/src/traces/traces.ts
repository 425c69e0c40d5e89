import { existsSync } from 'node:fs';

import { type Log, messageOf, type Traces } from '@dovetail/core-ports';

import { absoluteUrl } from '../cluster-settings.js';
import type { Setting } from '../settings.js';
import { version } from '../version.js';

const setting = <T>(definition: Setting<T>): Setting<T> => definition;

/**
 * The settings of services that trace: those of OpenTelemetry's standard that switch it on. Its
 * other variables count as well (https://opentelemetry.io/docs/specs/otel/configuration).
 */
export const traceSettings = {
  otlpEndpoint: setting({
    env: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    flag: 'otlp-endpoint',
    help: 'URL of a receiver of OpenTelemetry, to which traces are sent by OTLP over HTTP (at /v1/traces); none: nothing is traced.',
    fallback: '',
    parse: absoluteUrl,
  }),
  otlpTracesEndpoint: setting({
    env: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    flag: 'otlp-traces-endpoint',
    help: 'The same with its path, in place of OTEL_EXPORTER_OTLP_ENDPOINT, such as http://collector:4318/v1/traces.',
    fallback: '',
    parse: absoluteUrl,
  }),
} as const;

/** The values of these settings. */
export type TraceValues = { readonly otlpEndpoint: string; readonly otlpTracesEndpoint: string };

/** The process that traces come from, and where they go. */
export type TraceSource = {
  readonly url: string;
  readonly service: string;
  /** Of the service's release. */
  readonly version: string;
  /** Tells replicas of one service apart. */
  readonly instance: string;
  readonly cluster: string;
  /** Called with each failure to send, in words. */
  readonly onFailure: (message: string) => void;
};

/** An open way to a receiver. */
export type OpenedTraces = {
  readonly traces: Traces;
  /** Sends what is left. It may take as long as the receiver does, and may reject. */
  readonly flush: () => Promise<void>;
};

/** Traces of a running service. */
export type ServiceTraces = {
  readonly traces: Traces;
  /** Sends what is left, for two seconds at most. False: it was not done by then. */
  close(): Promise<boolean>;
};

/** Spans that a receiver does not take by then are lost: a service that ends has other duties. */
const flushMs = 2_000;
/** A receiver that is away fails every batch, every few seconds. */
const tellAgainMs = 300_000;

type Loader = () => Promise<{ readonly openTraces: (source: TraceSource) => OpenedTraces }>;

/** The SDK is a file of its own, beside the bundle of the service or among the sources. */
const loadSdk: Loader = () => {
  const beside = new URL('./traces.mjs', import.meta.url);
  const from = existsSync(beside) ? beside : new URL('./otel.js', import.meta.url);
  return import(from.href) as ReturnType<Loader>;
};

/** The address for traces. Undefined: the settings or the standard's variables switch them off. */
export function traceUrlOf(
  { otlpEndpoint, otlpTracesEndpoint }: Partial<TraceValues>,
  env: NodeJS.ProcessEnv,
): string | undefined {
  if (env['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true') return undefined;
  const exporters = (env['OTEL_TRACES_EXPORTER'] ?? '').split(',').map((name) => name.trim());
  if (!exporters.includes('') && !exporters.includes('otlp')) return undefined;
  if (otlpTracesEndpoint) return otlpTracesEndpoint;
  return otlpEndpoint ? `${otlpEndpoint.replace(/\/$/, '')}/v1/traces` : undefined;
}

/** Warns of a protocol that we do not speak. Proxies of a cluster often name one for all pods. */
function warnOfProtocol(log: Log, env: NodeJS.ProcessEnv): void {
  const wanted = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? env['OTEL_EXPORTER_OTLP_PROTOCOL'];
  if (wanted === undefined || wanted === '' || wanted === 'http/protobuf') return;
  const message = `OTEL_EXPORTER_OTLP_PROTOCOL is ${wanted}, and traces are sent by http/protobuf all the same: give the receiver's port for it, usually 4318`;
  log.warn('traces-protocol', message, { protocol: wanted });
}

/** Logs failures to send, each at most every five minutes. */
function failuresTo(log: Log, url: string): (message: string) => void {
  let quietUntilMs = 0;
  return (message) => {
    const nowMs = performance.now();
    if (nowMs < quietUntilMs) return;
    quietUntilMs = nowMs + tellAgainMs;
    log.warn(
      'traces-not-sent',
      `traces do not reach ${url}: ${message}; spans are lost until it answers, and nothing else waits for it`,
      { url },
    );
  };
}

/**
 * Opens the traces of a service, if its settings name a receiver. The SDK is loaded only then. If
 * that fails, the service works without traces.
 */
export async function serviceTraces(
  settings: Partial<TraceValues>,
  by: { readonly service: string; readonly instance: string; readonly cluster: string },
  { log, env, load = loadSdk }: { log: Log; env: NodeJS.ProcessEnv; load?: Loader },
): Promise<ServiceTraces | undefined> {
  const url = traceUrlOf(settings, env);
  if (url === undefined) return undefined;
  warnOfProtocol(log, env);
  try {
    const { openTraces } = await load();
    const { traces, flush } = openTraces({ ...by, url, version, onFailure: failuresTo(log, url) });
    log.info('traces-on', `traces are sent to ${url}`, { url });
    return { traces, close: () => doneWithin(flushMs, flush()) };
  } catch (error) {
    log.warn('traces-off', `the service works without traces: ${messageOf(error)}`, { url });
    return undefined;
  }
}

/** Whether the work ends well within this time. */
function doneWithin(durationMs: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), durationMs);
    const end = (isDone: boolean) => (): void => {
      clearTimeout(timer);
      resolve(isDone);
    };
    work.then(end(true), end(false));
  });
}
