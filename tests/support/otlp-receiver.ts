import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

import otlp from 'otlp-definitions/build/src/generated/root.js';

/** A span as a receiver of OTLP sees it. Ids are in hexadecimal digits, times in milliseconds. */
export type ReceivedSpan = {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
};

/** A receiver of traces by OTLP over HTTP, and everything that it was sent. */
export type OtlpReceiver = {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The messages that it refused, each by its path, media type and size. */
  readonly refused: readonly string[];
  close(): Promise<void>;
};

type KeyValue = {
  readonly key?: string;
  readonly value?: Readonly<Record<string, unknown>> | null;
};
type WireSpan = {
  readonly name: string;
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly parentSpanId?: Uint8Array;
  readonly startTimeUnixNano: unknown;
  readonly endTimeUnixNano: unknown;
  readonly attributes: readonly KeyValue[];
  readonly links?: readonly { readonly traceId: Uint8Array; readonly spanId: Uint8Array }[];
};
type WireRequest = {
  readonly resourceSpans: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
};

const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex');
const msOf = (nanos: unknown): number => Number(BigInt(String(nanos)) / 1_000_000n);

const valuesOf = (pairs: readonly KeyValue[] = []): Readonly<Record<string, unknown>> =>
  Object.fromEntries(pairs.map(({ key = '', value }) => [key, Object.values(value ?? {})[0]]));

const spanOf = (span: WireSpan, resource: ReceivedSpan['resource']): ReceivedSpan => ({
  service: String(resource['service.name']),
  name: span.name,
  traceId: hex(span.traceId),
  spanId: hex(span.spanId),
  parentId: hex(span.parentSpanId),
  startMs: msOf(span.startTimeUnixNano),
  endMs: msOf(span.endTimeUnixNano),
  attributes: valuesOf(span.attributes),
  resource,
  links: (span.links ?? []).map(({ traceId, spanId }) => ({
    traceId: hex(traceId),
    spanId: hex(spanId),
  })),
});

/** The part of the definitions that is used. The package's own types leave it out. */
type Definitions = {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: {
        readonly trace: {
          readonly v1: {
            readonly ExportTraceServiceRequest: { decode(bytes: Uint8Array): WireRequest };
          };
        };
      };
    };
  };
};

/** Decodes by the code that protobufjs made of OpenTelemetry's own definitions. */
function spansIn(bytes: Uint8Array): readonly ReceivedSpan[] {
  const { v1 } = (otlp as unknown as Definitions).opentelemetry.proto.collector.trace;
  const { resourceSpans } = v1.ExportTraceServiceRequest.decode(bytes);
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => spanOf(span, valuesOf(resource?.attributes))),
    ),
  );
}

/** Starts a receiver on this host. `answer` stands in for it, as one that is slow or refuses. */
export async function otlpReceiver(
  answer?: (response: ServerResponse) => void,
): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const refused: string[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    if (answer !== undefined) return answer(response);
    const type = request.headers['content-type'] ?? '';
    if (request.url !== '/v1/traces' || type !== 'application/x-protobuf') {
      refused.push(`${request.url ?? ''} ${type} ${String(body.length)}`);
      response.writeHead(404).end();
      return;
    }
    spans.push(...spansIn(body));
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  };
  const server = createServer((request, response) => {
    take(request, response).catch((error: unknown) => {
      refused.push(String(error));
      response.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    spans,
    refused,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
