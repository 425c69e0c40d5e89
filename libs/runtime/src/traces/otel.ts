/**
 * Traces by OpenTelemetry's SDK, sent by OTLP over HTTP. The build makes a file of its own of this
 * module, which a service loads once it has an endpoint.
 */
import { messageOf, type Span, type Traces } from '@dovetail/core-ports';
import {
  type Context,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type IdGenerator,
} from '@opentelemetry/sdk-trace-base';

import type { OpenedTraces, TraceSource } from './traces.js';

/** Gives the SDK the ids that our spans have: it asks for them while it begins a span. */
class GivenIds implements IdGenerator {
  #next = { traceId: '', spanId: '' };

  give(next: { readonly traceId: string; readonly spanId: string }): void {
    this.#next = next;
  }

  generateTraceId(): string {
    return this.#next.traceId;
  }

  generateSpanId(): string {
    return this.#next.spanId;
  }
}

const sampled = (traceId: string, spanId: string): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
  isRemote: true,
});

/** The caller has asked `keeps`, so the parent was sampled, in whichever service. */
const contextOf = ({ traceId, parentId }: Span): Context =>
  parentId === undefined
    ? ROOT_CONTEXT
    : trace.setSpanContext(ROOT_CONTEXT, sampled(traceId, parentId));

/** The sampler has no other face: a span that is begun and never ended is not sent. */
const keeps = (tracer: Tracer, ids: GivenIds, traceId: string): boolean => {
  ids.give({ traceId, spanId: traceId.slice(0, 16) });
  return tracer.startSpan('sampling', { root: true }, ROOT_CONTEXT).isRecording();
};

function record(tracer: Tracer, ids: GivenIds, span: Span): void {
  const { name, startMs, endMs, attributes, links = [], failure } = span;
  ids.give(span);
  const begun = tracer.startSpan(
    name,
    {
      startTime: new Date(startMs),
      attributes: { ...attributes },
      links: links.map(({ traceId, spanId }) => ({ context: sampled(traceId, spanId) })),
    },
    contextOf(span),
  );
  if (failure !== undefined) begun.setStatus({ code: SpanStatusCode.ERROR, message: failure });
  begun.end(new Date(endMs));
}

/** OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over our own names. */
const resourceOf = ({ service, version, instance, cluster }: TraceSource) =>
  defaultResource()
    .merge(
      resourceFromAttributes({
        'service.name': `dovetail-${service}`,
        'service.namespace': 'dovetail',
        'service.version': version,
        'service.instance.id': instance,
        'k8s.cluster.name': cluster,
      }),
    )
    .merge(detectResources({ detectors: [envDetector] }));

/** Tells what the SDK complains about. It repeats itself with every batch that it cannot send. */
function tellFailures({ onFailure }: TraceSource): void {
  const told = (message: string, ...more: readonly unknown[]): void =>
    onFailure([message, ...more].map(String).join(' '));
  const quiet = (): void => undefined;
  const logger = { error: told, warn: told, info: quiet, debug: quiet, verbose: quiet };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  setGlobalErrorHandler((error) => onFailure(messageOf(error)));
}

/** Opens the way to a receiver. Settings but the address come from the standard OTEL_ variables. */
export function openTraces(source: TraceSource): OpenedTraces {
  tellFailures(source);
  const ids = new GivenIds();
  const exporter = new OTLPTraceExporter({ url: source.url });
  const provider = new BasicTracerProvider({
    idGenerator: ids,
    resource: resourceOf(source),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer('dovetail', source.version);
  const traces: Traces = {
    keeps: (traceId) => keeps(tracer, ids, traceId),
    record: (span) => record(tracer, ids, span),
  };
  return { traces, flush: () => provider.shutdown() };
}
