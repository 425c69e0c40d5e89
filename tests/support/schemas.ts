import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js';

const folder = join(import.meta.dirname, '..', '..', 'docs', 'reference', 'schemas');

/** The names of the published schemas: files of docs/reference/schemas, without their version. */
export type SchemaName =
  | 'consolidate'
  | 'decision'
  | 'explain'
  | 'explain-node'
  | 'lab-instances'
  | 'replay'
  | 'shadow'
  | 'simulate'
  | 'status'
  | 'top';

/** The schema, with every object closed, so that a field that it does not name is an error. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).map(([key, value]) => [key, closed(value)] as const);
  const copy: AnySchemaObject = Object.fromEntries(parts);
  const isOpen = copy['type'] === 'object' && copy['additionalProperties'] === undefined;
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}

/**
 * The differences between a text of JSON and its published schema, such as a field that the schema
 * does not name. Empty: there are none.
 */
export function schemaFaults(name: SchemaName, text: string): readonly string[] {
  const schema: unknown = JSON.parse(readFileSync(join(folder, `${name}.v1.json`), 'utf8'));
  const formats = { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/ };
  const ajv = new Ajv2020({ allErrors: true, strict: true, formats });
  const validate = ajv.compile(closed(schema) as AnySchemaObject);
  const isValid = validate(JSON.parse(text)) as boolean;
  return (isValid ? [] : (validate.errors ?? [])).map(
    ({ instancePath, message = '', params }) =>
      `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
