import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

/** A rule of a role. */
export type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
};

/** `pods/eviction`, `nodes`, `nodepools.karpenter.sh/status`: a kind as kubectl writes it. */
export const targetOf = (group: string, resource: string): string => {
  const [plural = '', subresource] = resource.split('/');
  const kind = group === '' ? plural : `${plural}.${group}`;
  return subresource === undefined ? kind : `${kind}/${subresource}`;
};

/**
 * The rights of rules: `verb kind` for every object, and `verb kind name` of rules for named ones.
 */
export const rightsIn = (rules: readonly Rule[]): readonly string[] => [
  ...new Set(
    rules.flatMap(({ apiGroups, resources, resourceNames = [''], verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.flatMap((verb) =>
            resourceNames.map((name) => `${verb} ${targetOf(group, resource)} ${name}`.trim()),
          ),
        ),
      ),
    ),
  ),
];

const templates = join(import.meta.dirname, '..', '..', 'deploy', 'helm', 'dovetail', 'templates');

/** The text of a block that a template defines, without the conditions in it. */
function blockOf(file: string, name: string): string {
  const text = readFileSync(join(templates, file), 'utf8');
  const [, block] =
    new RegExp(`\\{\\{- define "dovetail\\.${name}" -\\}\\}\\n([^]*?)\\{\\{- end -\\}\\}`).exec(
      text,
    ) ?? [];
  if (block === undefined) throw new Error(`${file} defines no "dovetail.${name}"`);
  return block.replaceAll(/^\{\{- (?:if .*|end) \}\}\n/gm, '');
}

/**
 * The rules of a service's ClusterRole as the chart's templates have them, with `placement: bind`,
 * and its Lease in its namespace. A test compares them with a rendered chart.
 */
export function roleOf(service: string): readonly Rule[] {
  if (service === 'solver') return [];
  const camel = service.replace(/-(.)/g, (_dash, letter: string) => letter.toUpperCase());
  const own = blockOf(`${service}.yaml`, `${camel}Rules`).replace(
    /^\{\{ include "dovetail\.planningRules" \(dict "verbs" "(.*)"\) \}\}$/m,
    (_include, verbs: string) =>
      blockOf('_rights.tpl', 'planningRules').trim().replaceAll('{{ .verbs }}', verbs),
  );
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] };
  return [
    ...(parse(own) as readonly Rule[]),
    { ...leases, verbs: ['create'] },
    { ...leases, resourceNames: [`dovetail-${service}`], verbs: ['get', 'update'] },
  ];
}
