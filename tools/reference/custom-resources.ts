import { isRecord, recordOf } from '@dovetail/core-kube-model';
import { parse } from 'yaml';

import { crdFiles } from '../crds/files.js';

type Schema = Readonly<Record<string, unknown>>;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const code = (value: unknown): string =>
  `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

function typeOf(schema: Schema): string {
  if (schema['x-kubernetes-int-or-string'] === true) return 'quantity';
  const { type } = schema;
  if (type === 'array') return `list of ${typeOf(recordOf(schema['items']))}`;
  if (isRecord(schema['additionalProperties']))
    return `map to ${typeOf(schema['additionalProperties'])}`;
  return typeof type === 'string' ? type : 'any';
}

/** The limits that a reader can use. Patterns are left out: the API's errors show them. */
function limitsOf(schema: Schema, isRequired: boolean): string {
  const { enum: choices, default: fallback, minimum, maximum, maxItems } = schema;
  return [
    ...(isRequired ? ['required'] : []),
    ...(fallback === undefined ? [] : [`default ${code(fallback)}`]),
    ...(listOf(choices).length === 0 ? [] : [`one of ${listOf(choices).map(code).join(', ')}`]),
    ...(minimum === undefined ? [] : [`from ${code(minimum)}`]),
    ...(maximum === undefined ? [] : [`to ${code(maximum)}`]),
    ...(maxItems === undefined ? [] : [`at most ${code(maxItems)}`]),
  ].join('; ');
}

/** The rows of an object's fields, with those of nested objects after each. */
function rowsOf(schema: Schema, path: string): readonly string[] {
  const required = new Set(listOf(schema['required']));
  return Object.entries(recordOf(schema['properties'])).flatMap(([name, raw]) => {
    const field = recordOf(raw);
    const at = path === '' ? name : `${path}.${name}`;
    const meaning = typeof field['description'] === 'string' ? field['description'] : '';
    const row = `| \`${at}\` | ${typeOf(field)} | ${limitsOf(field, required.has(name))} | ${meaning} |`;
    const items = recordOf(field['items']);
    return [row, ...rowsOf(field, at), ...rowsOf(items, `${at}[]`)];
  });
}

const cell = (row: string): string => row.replaceAll('\n', ' ');

function sectionOf(text: string): string {
  const crd = recordOf(parse(text));
  const spec = recordOf(crd['spec']);
  const { kind } = recordOf(spec['names']);
  return listOf(spec['versions'])
    .map((raw) => {
      const version = recordOf(raw);
      const schema = recordOf(recordOf(version['schema'])['openAPIV3Schema']);
      const { spec: own, status } = recordOf(schema['properties']);
      const rows = [...rowsOf(recordOf(own), 'spec'), ...rowsOf(recordOf(status), 'status')];
      const about = typeof schema['description'] === 'string' ? `${schema['description']}\n\n` : '';
      return `## ${String(kind)} (\`${String(spec['group'])}/${String(version['name'])}\`)

${about}| field | type | limits | meaning |
|---|---|---|---|
${rows.map(cell).join('\n')}
`;
    })
    .join('\n');
}

/** The page of all custom resources, from the definitions that are installed. */
export const customResourcesPage = (): string => `# Custom resources

Written by \`npm run reference\` from the definitions in \`deploy/crds\`; do not edit it by hand. A field without a meaning here has
Karpenter's ([its own reference](https://karpenter.sh/docs/concepts/)). \`kubectl explain nodepool.spec\` shows the same on a cluster.
The API server also checks rules over several fields, and says which one a manifest breaks.

${[...crdFiles()].map(([, text]) => sectionOf(text)).join('\n')}`;
