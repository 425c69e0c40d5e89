import type { IncomingMessage, ServerResponse } from 'node:http';

import { isRecord, type Raw } from '@dovetail/core-kube-model';
import { messageOf } from '@dovetail/core-ports';
import { parse as parseYaml } from 'yaml';

import { badRequest, StatusError } from '../model/errors.js';
import type { StoredObject } from '../model/objects.js';
import { fromProtobuf } from '../schema/protobuf.js';
import type { ResourceType } from '../store/registry.js';
import type { KubeStore } from '../store/store.js';
import { type IncludeObject, tableOf } from './tables/table.js';

/** One request and its answer. */
export type Exchange = {
  readonly store: KubeStore;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly warnings: string[];
};

/** The representation that the caller accepts. */
export type Shape = 'object' | 'table' | 'metadata';

/** The shape that the client accepts first: a Table, metadata only, or the whole object. */
export function shapeOf(exchange: Exchange): Shape {
  const accept = exchange.request.headers.accept ?? '';
  for (const range of accept.split(',')) {
    if (range.includes('as=Table') && range.includes('v=v1;') && range.includes('application/json'))
      return 'table';
    if (range.includes('as=PartialObjectMetadata') && range.includes('application/json'))
      return 'metadata';
    if (/application\/json\s*$|^\s*\*\/\*/.test(range)) return 'object';
  }
  return 'object';
}

/** The part of each object that the rows of a Table carry. Default: its metadata. */
export const includeOf = (exchange: Exchange): IncludeObject => {
  const asked = exchange.query.get('includeObject');
  return asked === 'None' || asked === 'Object' ? asked : 'Metadata';
};

const bodyMax = 16 * 2 ** 20;

async function bodyBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > bodyMax)
      throw new StatusError({
        code: 413,
        reason: 'RequestEntityTooLarge',
        message: `Request entity too large: limit is ${bodyMax}`,
      });
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/**
 * The body as a value, from JSON, YAML or Kubernetes' protobuf; undefined when it is empty. Throws
 * 400 when it cannot be read, and 415 for CBOR.
 */
export async function bodyOf(exchange: Exchange): Promise<unknown> {
  const type = exchange.request.headers['content-type'] ?? '';
  const bytes = await bodyBytes(exchange.request);
  if (type.includes('protobuf')) return fromProtobuf(bytes);
  if (type.includes('cbor')) {
    throw new StatusError({
      code: 415,
      reason: 'UnsupportedMediaType',
      message:
        'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    });
  }
  const text = bytes.toString('utf8');
  if (text === '') return undefined;
  try {
    return type.includes('yaml') ? parseYaml(text) : JSON.parse(text);
  } catch (thrown) {
    throw badRequest(`error decoding the body: ${messageOf(thrown)}`);
  }
}

/** The body as an object; 400 when it is something else. */
export async function objectBody(exchange: Exchange): Promise<Raw> {
  const body = await bodyOf(exchange);
  if (!isRecord(body)) throw badRequest('the request body must be an object');
  return body;
}

/** Answers with a JSON value. */
export function answer(exchange: Exchange, code: number, value: object | string): void {
  const { response, warnings } = exchange;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  for (const warning of warnings)
    response.appendHeader('Warning', `299 - ${JSON.stringify(warning)}`);
  response.writeHead(code, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

const texts = new WeakMap<StoredObject, string>();

/** The object's JSON, cached for as long as the object lives. */
export function textOfObject(object: StoredObject): string {
  let text = texts.get(object);
  if (text === undefined) {
    text = JSON.stringify(object);
    texts.set(object, text);
  }
  return text;
}

/** The object as PartialObjectMetadata. */
export const metadataOnly = (object: StoredObject): object => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: object.metadata,
});

/** Answers with one object, in the shape that was asked for. */
export function answerObject(
  exchange: Exchange,
  code: number,
  type: ResourceType,
  object: StoredObject,
): void {
  switch (shapeOf(exchange)) {
    case 'object':
      return answer(exchange, code, textOfObject(object));
    case 'metadata':
      return answer(exchange, code, metadataOnly(object));
    case 'table':
      return answer(
        exchange,
        code,
        tableOf(type, [object], {
          metadata: { resourceVersion: object.metadata.resourceVersion },
          nowMs: exchange.store.clock.nowMs(),
          include: includeOf(exchange),
          headers: true,
        }),
      );
  }
}
