import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { compareText } from '@dovetail/core-kube-model';

/** A metric that Karpenter registers: its name, its type, and its labels in order. */
export type KarpenterMetric = {
  readonly name: string;
  readonly kind: string;
  readonly labels: readonly string[];
};

/** A package of Go: its sources without comments, and the names that it declares. */
type GoPackage = {
  readonly name: string;
  readonly text: string;
  readonly declared: ReadonlyMap<string, string>;
};

/** Constants of Kubernetes' own packages, from which Karpenter takes labels of nodes. */
const kubernetesLabels: Readonly<Record<string, string>> = {
  LabelTopologyZone: 'topology.kubernetes.io/zone',
  LabelTopologyRegion: 'topology.kubernetes.io/region',
  LabelInstanceTypeStable: 'node.kubernetes.io/instance-type',
  LabelArchStable: 'kubernetes.io/arch',
  LabelOSStable: 'kubernetes.io/os',
  LabelWindowsBuild: 'node.kubernetes.io/windows-build',
};

/** A name that is declared as a sum of names and texts, or as a label of metrics with a name. */
const declaration =
  /^\s*(?:var |const )?(\w+)(?: string)?\s+=\s+(?:opmetrics\.Label\{\s*Name:\s*)?((?:[\w.]+|"[^"]*")(?: \+ "[^"]*")?)/gm;

/** Whether a file is a test or a stand-in for tests. */
const isOfTests = ({ name, parentPath }: { readonly name: string; readonly parentPath: string }) =>
  name.endsWith('_test.go') || basename(parentPath) === 'fake';

/** The packages under a folder, without their tests. */
function packagesOf(folder: string): readonly GoPackage[] {
  const texts = new Map<string, string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.name.endsWith('.go') && !isOfTests(entry)) {
      const text = readFileSync(join(entry.parentPath, entry.name), 'utf8');
      texts.set(
        entry.parentPath,
        `${texts.get(entry.parentPath) ?? ''}\n${text.replaceAll(/^\s*\/\/.*$|(?<=[,}]) ?\/\/.*$/gm, '')}`,
      );
    }
  return [...texts].map(([path, text]) => ({
    name: basename(path),
    text,
    declared: new Map(
      [...text.matchAll(declaration)].map(([, name = '', value = '']) => [name, value]),
    ),
  }));
}

/** The text of an expression in a package. Throws if no package declares a name of it. */
function textOf(expression: string, own: GoPackage, all: readonly GoPackage[]): string {
  return expression
    .split(' + ')
    .map((part) => {
      if (part.startsWith('"')) return part.slice(1, -1);
      const [name = '', qualifier] = part.split('.').toReversed();
      const kubernetes = kubernetesLabels[name];
      if (kubernetes !== undefined) return kubernetes;
      const imported = qualifier?.replace(/^karpv1$/, 'v1');
      const owner =
        imported === undefined
          ? own
          : all.find((one) => one.name === imported && one.declared.has(name));
      const value = owner?.declared.get(name);
      if (owner === undefined || value === undefined) throw new Error(`who declares ${part}?`);
      return textOf(value, owner, all);
    })
    .join('');
}

/** The names of a list in Go, of one a line or several. */
const listed = (text: string): readonly string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

/** Labels of nodes by which Karpenter's metrics of nodes are labelled: its well-known ones. */
function wellKnownLabels(all: readonly GoPackage[]): readonly string[] {
  return all.flatMap((own) =>
    [...own.text.matchAll(/WellKnownLabels(?: = sets\.New|\.Insert)\(\n([^)]*)\)/g)].flatMap(
      ([, names = '']) =>
        listed(names).map((name) =>
          (textOf(name, own, all).split('/')[1] ?? '').toLowerCase().replaceAll('-', '_'),
        ),
    ),
  );
}

/** The labels of one metric: a list in place, or a function of its package. */
function labelsOf(
  expression: string,
  own: GoPackage,
  all: readonly GoPackage[],
): readonly string[] {
  const [, call] = /^(\w+)\(\)/.exec(expression) ?? [];
  if (call?.startsWith('nodeLabelNames') === true)
    return [
      ...wellKnownLabels(all),
      ...['node_name', 'phase', 'managed'],
      ...(call.endsWith('ResourceType') ? ['resource_type'] : []),
    ];
  const body =
    call === undefined
      ? expression
      : (new RegExp(`func ${call}\\(\\)[^{]*\\{\\s*return ([\\s\\S]*?\\})\\s`).exec(
          own.text,
        )?.[1] ?? '');
  const [, names] = /^\[\]opmetrics\.Label\{([^}]*)\}/.exec(body) ?? [];
  if (names === undefined) throw new Error(`what labels are these: ${expression.slice(0, 80)}?`);
  return listed(names).map((name) => textOf(name, own, all));
}

const registration =
  /opmetrics\.NewPrometheus(Counter|Gauge|Histogram|Summary)\(\s*crmetrics\.Registry,\s*prometheus\.\w+Opts\{([^;]*?)\},\s*(\[\]opmetrics\.Label\{[^}]*\}|\w+\(\)),/g;

/** A field of the options of a metric, or nothing. */
const field = (options: string, name: string): string | undefined =>
  new RegExp(`\\b${name}:\\s*((?:"[^"]*"|[\\w.]+))`).exec(options)?.[1];

/**
 * All metrics that these sources of Karpenter register, by name: the folders of the Go modules
 * `sigs.k8s.io/karpenter` and `github.com/aws/karpenter-provider-aws`. Throws if a name or label
 * cannot be resolved.
 */
export function metricsOfKarpenter(folders: readonly string[]): readonly KarpenterMetric[] {
  const all = folders.flatMap((folder) => packagesOf(join(folder, 'pkg')));
  return all
    .flatMap((own) =>
      [...own.text.matchAll(registration)].map(([, kind = '', options = '', labels = '']) => ({
        name: ['Namespace', 'Subsystem', 'Name']
          .map((name) => field(options, name))
          .filter((part) => part !== undefined)
          .map((part) => textOf(part, own, all))
          .join('_'),
        kind: kind.toLowerCase(),
        labels: [...new Set(labelsOf(labels, own, all))].toSorted(compareText),
      })),
    )
    .toSorted((a, b) => compareText(a.name, b.name));
}
