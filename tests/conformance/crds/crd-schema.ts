import { isRecord } from '@dovetail/core-kube-model';
import { Environment, ParseError } from '@marcbachmann/cel-js';
import { Ajv } from 'ajv';

type Json = Readonly<Record<string, unknown>>;
type Schema = Json & {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly default?: unknown;
  readonly 'x-kubernetes-validations'?: readonly {
    readonly rule: string;
    readonly message: string;
  }[];
};
/** The parts of a CustomResourceDefinition that judging an object needs. */
export type Crd = {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string; readonly plural: string };
    readonly versions: readonly [
      { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } },
    ];
  };
};

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** The object with the schema's defaults, as the API server stores it. */
function withDefaults(schema: Schema | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => withDefaults(schema.items, item));
  if (!isRecord(value)) return value;
  const result: Record<string, unknown> = { ...value };
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    if (result[name] === undefined && field.default !== undefined)
      result[name] = plain(field.default);
    if (result[name] !== undefined) result[name] = withDefaults(field, result[name]);
  }
  if (isRecord(schema.additionalProperties))
    for (const name of Object.keys(result))
      result[name] = withDefaults(schema.additionalProperties, result[name]);
  return result;
}

/** Values as CEL knows them: integers are int, not double. */
function celValue(value: unknown): unknown {
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  if (Array.isArray(value)) return value.map(celValue);
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, celValue(one)]))
    : value;
}

const environment = new Environment({ unlistedVariablesAreDyn: true });

function broken(rule: string, self: unknown, oldSelf: unknown): boolean {
  if (rule.includes('oldSelf') && oldSelf === undefined) return false;
  try {
    return (
      environment.evaluate(rule, { self: celValue(self), oldSelf: celValue(oldSelf) }) !== true
    );
  } catch (error) {
    // As on the API server, a rule whose evaluation fails refuses the object. A rule that does not
    // parse is our defect.
    if (error instanceof ParseError) throw error;
    return true;
  }
}

function brokenRules(
  schema: Schema | undefined,
  value: unknown,
  before: unknown,
  path: string,
): readonly string[] {
  if (schema === undefined || value === undefined) return [];
  const own = (schema['x-kubernetes-validations'] ?? [])
    .filter(({ rule }) => broken(rule, value, before))
    .map(({ message }) => `${path}: ${message}`);
  if (Array.isArray(value))
    return [
      ...own,
      ...value.flatMap((item, index) =>
        brokenRules(schema.items, item, undefined, `${path}[${index}]`),
      ),
    ];
  if (!isRecord(value)) return own;
  const old = isRecord(before) ? before : {};
  return [
    ...own,
    ...Object.entries(value).flatMap(([name, one]) =>
      brokenRules(
        schema.properties?.[name] ??
          (isRecord(schema.additionalProperties) ? schema.additionalProperties : undefined),
        one,
        old[name],
        `${path}.${name}`,
      ),
    ),
  ];
}

const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false });

/**
 * The reasons why the definition refuses the object, or the change from `before` if given. Empty if
 * it accepts.
 */
export function refusalsOf(crd: Crd, object: object, before?: object): readonly string[] {
  const schema = crd.spec.versions[0].schema.openAPIV3Schema;
  const defaulted = withDefaults(schema, plain(object));
  const validate = ajv.compile(schema);
  if (!validate(defaulted))
    return (validate.errors ?? []).map(
      (error) => `${error.instancePath} ${error.message ?? ''} ${JSON.stringify(error.params)}`,
    );
  return brokenRules(
    schema,
    defaulted,
    before === undefined ? undefined : withDefaults(schema, plain(before)),
    crd.spec.names.kind,
  );
}
