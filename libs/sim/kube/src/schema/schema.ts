import { lookUp } from '@dovetail/core-invariant';

import { builtinSchemasJson } from './builtin-schemas.js';

/** One `x-kubernetes-validations` rule. */
export type Rule = {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
};

/**
 * The shape of a value by OpenAPI and Kubernetes' extensions, for built-in and custom kinds alike.
 */
export type Schema = {
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  /** A definition of builtin-schemas by name. */
  readonly ref?: string;
  readonly listType?: string;
  readonly listMapKeys?: readonly string[];
  readonly mapType?: string;
  readonly patchMergeKey?: string;
  readonly patchStrategy?: string;
  readonly nullable?: boolean;
  readonly intOrString?: boolean;
  readonly preserveUnknown?: boolean;
  readonly embedded?: boolean;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly rules?: readonly Rule[];
};

type Builtin = {
  readonly roots: Readonly<Record<string, string>>;
  readonly definitions: Readonly<Record<string, Schema>>;
};
let parsed: Builtin | undefined;

const builtin = (): Builtin => (parsed ??= JSON.parse(builtinSchemasJson) as Builtin);

/** The schema of a built-in kind; undefined when there is none. */
export function builtinSchema(group: string, version: string, kind: string): Schema | undefined {
  const ref = lookUp(builtin().roots, `${group}/${version}/${kind}`);
  return ref === undefined ? undefined : { ref };
}

/** Every definition that built-in schemas refer to. */
export const builtinDefinitions = (): Readonly<Record<string, Schema>> => builtin().definitions;

/** Follows a reference; the referring field's own list and patch settings stay. */
export function resolved(schema: Schema): Schema {
  if (schema.ref === undefined) return schema;
  return lookUp(builtin().definitions, schema.ref) ?? {};
}
