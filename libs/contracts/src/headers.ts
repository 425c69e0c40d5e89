import type { Headers } from '@dovetail/core-ports';

/** The facts that every message carries in its headers. */
export type Envelope = {
  /** CloudEvents id: with the source, unique per event. */
  readonly id: string;
  /** The cluster and the service that send. Ids are unique among those of one source. */
  readonly source: { readonly cluster: string; readonly service: string };
  /** Name of the protobuf message, e.g. `StateRecord`, and its kind where it has one. */
  readonly type: string;
  /** The object that it is about, e.g. `Node/ip-10-0-0-4`. */
  readonly subject?: string;
  readonly timeMs: number;
  /** W3C trace context, when the message belongs to a trace. */
  readonly traceparent?: string;
};

/**
 * The header whose value `blob` marks a payload that is a BlobManifest, with the message itself in
 * parts.
 */
export const blobHeader = 'dovetail-content';

/**
 * The header that names the stream a message is published into. Another stream refuses it, by
 * NATS' own rule. A client may have NATS deliver a stored message on any subject, and so put it
 * into another stream. Such a copy has either the name of the stream it comes from, or none.
 */
export const streamHeader = 'Nats-Expected-Stream';

const mediaType = 'application/protobuf';

/**
 * CloudEvents 1.0 headers and W3C `traceparent`. The binary mode of the NATS protocol binding is in
 * its draft 1.0.3; the binding that was released, 1.0.2, knows no headers. Drafts differ in the
 * header of the media type, so both have it.
 */
export function headersFor(envelope: Envelope): Headers {
  return {
    'ce-specversion': '1.0',
    'ce-id': headerValue(envelope.id),
    'ce-source': headerValue(`/dovetail/${envelope.source.cluster}/${envelope.source.service}`),
    'ce-type': `dovetail.v1.${envelope.type}`,
    'ce-time': new Date(envelope.timeMs).toISOString(),
    ...(envelope.subject === undefined ? {} : { 'ce-subject': headerValue(envelope.subject) }),
    'ce-datacontenttype': mediaType,
    'content-type': mediaType,
    ...(envelope.traceparent === undefined ? {} : traceOf(envelope.traceparent)),
  };
}

/** By its own name for tools of tracing, and as the extension of CloudEvents that it is. */
const traceOf = (traceparent: string): Headers => ({ traceparent, 'ce-traceparent': traceparent });

/**
 * An attribute as the value of a header. These are printable ASCII: CloudEvents escapes a space, a
 * double quote, a percent sign and all other characters as UTF-8 bytes in `%XX` (3.1.3.2 of the
 * bindings for HTTP and NATS).
 */
export const headerValue = (value: string): string =>
  value
    .replace(/\p{Surrogate}/gu, '\u{fffd}')
    .replace(/[^\x21\x23\x24\x26-\x7e]+/g, (part) => encodeURIComponent(part));
