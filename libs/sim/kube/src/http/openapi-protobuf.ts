import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../model/json.js';

/** The media type in which kubectl asks for the OpenAPI v2 document. */
export const openApiV2Protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

// Field numbers are those of gnostic's openapiv2/OpenAPIv2.proto.

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** A field of text or of a message: the number, the length, the bytes. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

const named = (number: number, name: string, value: Buffer): Buffer =>
  field(number, Buffer.concat([field(1, name), field(2, value)]));

/** Values of extensions travel as YAML, of which JSON is a part. */
const anyValue = (value: unknown): Buffer => field(2, JSON.stringify(value));

function schemaParts(schema: Raw): readonly Buffer[] {
  const { $ref, format, required, additionalProperties, type, items, properties } = schema;
  return [
    ...(typeof $ref === 'string' ? [field(1, $ref)] : []),
    ...(typeof format === 'string' ? [field(2, format)] : []),
    ...listOf(required).map((name) => field(19, textOf(name))),
    ...(isRecord(additionalProperties)
      ? [field(21, field(1, schemaMessage(additionalProperties)))]
      : []),
    ...(typeof type === 'string' ? [field(22, field(1, type))] : []),
    ...(isRecord(items) ? [field(23, field(1, schemaMessage(items)))] : []),
    ...(isRecord(properties) ? [field(25, schemasByName(properties))] : []),
    ...Object.entries(schema)
      .filter(([name]) => name.startsWith('x-'))
      .map(([name, value]) => named(31, name, anyValue(value))),
  ];
}

const schemaMessage = (schema: Raw): Buffer => Buffer.concat(schemaParts(schema));

const schemasByName = (schemas: Raw): Buffer =>
  Buffer.concat(
    Object.entries(schemas).map(([name, schema]) =>
      named(1, name, schemaMessage(recordOf(schema))),
    ),
  );

/** An OpenAPI v2 document in protobuf, with what `openApiV2Document` puts into one. */
export function openApiV2Message(document: Raw): Buffer {
  const info = recordOf(document['info']);
  return Buffer.concat([
    field(1, textOf(document['swagger'])),
    field(2, Buffer.concat([field(1, textOf(info['title'])), field(2, textOf(info['version']))])),
    field(8, Buffer.alloc(0)),
    field(9, schemasByName(recordOf(document['definitions']))),
  ]);
}
