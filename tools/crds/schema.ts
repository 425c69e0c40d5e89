/** A node of an OpenAPI v3 schema, as CustomResourceDefinitions hold it. */
export type Schema = { readonly [keyword: string]: unknown };
/** A CEL rule of the API server. The object is refused, with the message, unless the rule holds. */
export type Rule = { readonly rule: string; readonly message: string };

/** A list of CEL rules as a schema keyword. */
export const rules = (...all: readonly (readonly [rule: string, message: string])[]): Schema => ({
  'x-kubernetes-validations': all.map(([rule, message]): Rule => ({ message, rule })),
});

/** A string. */
export const text = (more: Schema = {}): Schema => ({ type: 'string', ...more });

/** One of these words. */
export const words = (...allowed: readonly string[]): Schema => ({ type: 'string', enum: allowed });

/** A boolean. */
export const flag = (more: Schema = {}): Schema => ({ type: 'boolean', ...more });

/** A whole number of 32 bits. */
export const int32 = (more: Schema = {}): Schema => ({ type: 'integer', format: 'int32', ...more });

/** A whole number of 64 bits. */
export const int64 = (more: Schema = {}): Schema => ({ type: 'integer', format: 'int64', ...more });

/** A time as RFC 3339 writes it. */
export const time = (): Schema => ({ type: 'string', format: 'date-time' });

/** A list. */
export const listOf = (items: Schema, more: Schema = {}): Schema => ({
  type: 'array',
  items,
  ...more,
});

/** A list that appliers replace as a whole. */
export const atomicListOf = (items: Schema, more: Schema = {}): Schema =>
  listOf(items, { 'x-kubernetes-list-type': 'atomic', ...more });

/** An object with any keys. */
export const mapOf = (values: Schema, more: Schema = {}): Schema => ({
  type: 'object',
  additionalProperties: values,
  ...more,
});

/** The schema with a description. */
export const described = (description: string, schema: Schema): Schema => ({
  description,
  ...schema,
});

/** An object with fields. Names that end in `!` are required. */
export function fields(properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema {
  const required = Object.keys(properties)
    .filter((name) => name.endsWith('!'))
    .map((name) => name.slice(0, -1));
  const plain = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name.replace(/!$/, ''), schema]),
  );
  return {
    type: 'object',
    ...(required.length === 0 ? {} : { required }),
    properties: plain,
    ...more,
  };
}

/** A Kubernetes quantity, as a number or a text. */
export const quantity = (): Schema => ({
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  'x-kubernetes-int-or-string': true,
  pattern:
    '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
});

/** Status conditions, one of each type. */
export const conditions = (): Schema =>
  described(
    'The present state of the object, by type.',
    listOf(
      fields({
        'type!': text({ maxLength: 316 }),
        'status!': words('True', 'False', 'Unknown'),
        'lastTransitionTime!': time(),
        reason: text({ maxLength: 1024 }),
        message: text({ maxLength: 32_768 }),
        observedGeneration: int64({ minimum: 0 }),
      }),
      { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] },
    ),
  );

/** A column that kubectl prints. */
export type Column = {
  readonly name: string;
  readonly jsonPath: string;
  readonly type: string;
  readonly priority?: number;
};

/** A column of that path. Those of priority 1 appear only in wide output. */
export const column = (name: string, jsonPath: string, type = 'string', priority = 0): Column => ({
  name,
  jsonPath,
  type,
  ...(priority === 0 ? {} : { priority }),
});

/** The column with the time since creation. */
export const age = (): Column => column('Age', '.metadata.creationTimestamp', 'date');

/** The column with the status of the condition Ready. */
export const readyColumn = (priority = 0): Column =>
  column('Ready', '.status.conditions[?(@.type=="Ready")].status', 'string', priority);

/** A CustomResourceDefinition of one version. */
export type Definition = {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: readonly string[];
  readonly description: string;
  readonly columns: readonly Column[];
  readonly spec: Schema;
  readonly status: Schema;
  readonly scale?: Schema;
};

/** A CustomResourceDefinition of one version, cluster-scoped, with a status subresource. */
export function definition(of: Definition): Schema {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${of.plural}.${of.group}` },
    spec: {
      group: of.group,
      scope: 'Cluster',
      names: {
        categories: ['karpenter'],
        kind: of.kind,
        listKind: `${of.kind}List`,
        plural: of.plural,
        singular: of.kind.toLowerCase(),
        ...(of.shortNames === undefined ? {} : { shortNames: of.shortNames }),
      },
      versions: [
        {
          name: of.version,
          served: true,
          storage: true,
          additionalPrinterColumns: of.columns,
          subresources: { status: {}, ...(of.scale === undefined ? {} : { scale: of.scale }) },
          schema: {
            openAPIV3Schema: described(
              of.description,
              fields({
                apiVersion: text(),
                kind: text(),
                metadata: { type: 'object' },
                'spec!': of.spec,
                status: of.status,
              }),
            ),
          },
        },
      ],
    },
  };
}
