import { compareText } from '@dovetail/core-kube-model';

/** A metric as a table of the sources declares it. */
export type Metric = {
  readonly name: string;
  readonly kind: string;
  readonly labels: readonly string[];
  readonly help: string;
};

/** A table of metrics: its own entries, and the names of the tables that it contains. */
type Table = { readonly own: readonly Metric[]; readonly contains: readonly string[] };

/** The tables of the services by the name that the page gives them. */
const services = {
  console: 'consoleMetrics',
  launcher: 'launcherMetrics',
  'pod-watcher': 'podWatcherMetrics',
  reaper: 'reaperMetrics',
  sinks: 'sinksMetrics',
  solver: 'solverMetrics',
} as const;
/** The table of what every service writes (`libs/runtime`). */
const everyService = 'sharedMetrics';

/** Lists of labels that several metrics share, by the name of their constant. */
type Lists = ReadonlyMap<string, string>;

/** One entry of a table. Throws if a part of the definition is missing. */
function metricOf(name: string, body: string, lists: Lists): Metric {
  const [, kind] = /kind: '(\w+)'/.exec(body) ?? [];
  const [, quoted, doubleQuoted] = /help:\s*(?:'([^']+)'|"([^"]+)")/.exec(body) ?? [];
  const help = quoted ?? doubleQuoted;
  if (kind === undefined || help === undefined)
    throw new Error(`the metric ${name} has no kind or no help text`);
  const [, given = ''] = /labels: \[([^\]]*)\]/.exec(body) ?? [];
  const labels = given.replaceAll(/\.\.\.(\w+)/g, (_, list: string) => lists.get(list) ?? '');
  return { name, kind, labels: [...labels.matchAll(/'(\w+)'/g)].map(([, l = '']) => l), help };
}

/** The tables that these sources declare, by name. */
function tablesOf(sources: readonly string[]): ReadonlyMap<string, Table> {
  const tables = new Map<string, Table>();
  const lists = new Map(
    [...sources.join('\n').matchAll(/const (\w+) = \[([^\]]*)\] as const;/g)].map(
      ([, name = '', body = '']) => [name, body],
    ),
  );
  for (const [, name = '', body = ''] of sources
    .join('\n')
    .matchAll(/const (\w+Metrics): MetricDefinitions = \{\n([\s\S]*?)\n\};/g))
    tables.set(name, {
      own: [...body.matchAll(/^ {2}(\w+): \{([\s\S]*?)\s\},$/gm)].map(
        ([, metric = '', text = '']) => metricOf(metric, text, lists),
      ),
      contains: [...body.matchAll(/^ {2}\.\.\.(\w+),$/gm)].map(([, other = '']) => other),
    });
  return tables;
}

/** The metrics of a table and of those that it contains. Throws for a table that is not there. */
function allOf(tables: ReadonlyMap<string, Table>, name: string): readonly Metric[] {
  const table = tables.get(name);
  if (table === undefined) throw new Error(`no source declares the table ${name}`);
  return [...table.own, ...table.contains.flatMap((other) => allOf(tables, other))];
}

/** Each metric of the services once, with those that write it. Throws if two disagree on one. */
function writtenMetrics(
  tables: ReadonlyMap<string, Table>,
): readonly { readonly metric: Metric; readonly from: readonly string[] }[] {
  const found = new Map<string, { readonly metric: Metric; readonly from: string[] }>();
  const writers = [...Object.entries(services), ['every service', everyService] as const];
  for (const [from, table] of writers)
    for (const metric of allOf(tables, table)) {
      const known = found.get(metric.name);
      if (known === undefined) found.set(metric.name, { metric, from: [from] });
      else if (JSON.stringify(known.metric) !== JSON.stringify(metric))
        throw new Error(`two services declare ${metric.name} in different ways`);
      else if (!known.from.includes(from)) known.from.push(from);
    }
  return [...found.values()].toSorted(({ metric: a }, { metric: b }) =>
    compareText(a.name, b.name),
  );
}

/** The metrics that these sources declare. */
export const metricsOf = (sources: readonly string[]): readonly Metric[] =>
  writtenMetrics(tablesOf(sources)).map(({ metric }) => metric);

/** Names as code. The forty labels of nodes stand on the page of Karpenter's metrics. */
export const shortened = (labels: readonly string[]): string =>
  labels.length > 20
    ? '[labels of nodes](karpenter-metrics.md#labels-of-nodes)'
    : labels.map((label) => `\`${label}\``).join(', ');

/** The rows of the page. */
const rowsOf = (tables: ReadonlyMap<string, Table>): readonly string[] =>
  writtenMetrics(tables).map(({ metric: { name, kind, labels, help }, from }) => {
    const shown = shortened(labels);
    return `| \`${name}\` | ${kind} | ${from.join(', ')} | ${shown} | ${help.replace(/\.$/, '')} |`;
  });

/** The page of all metrics, from the sources with the tables that services register. */
export const metricsPage = (sources: readonly string[]): string => `# Metrics

Written by \`npm run reference\` from the tables that the services register (\`libs/services/*/src/metrics.ts\`); do not edit it by
hand. Every service serves \`/metrics\` in Prometheus' text format. Names are Karpenter's where the meaning is the same; [Karpenter's metrics](karpenter-metrics.md) lists all of them.

The Node.js defaults (\`nodejs_*\`, \`process_*\`) are there too. \`nodejs_eventloop_lag_max_seconds\` is the longest time that the
service could not react, since the last scrape. \`dovetail_event_loop_held_max_seconds\` is the part of it that its own work took. If
only the first is long, the service waited for a CPU.

A metric without labels is 0 from the start, and so are labels that are known before anything is counted. Other labels appear with
their first value. A replica that stops leading empties its gauges, so a sum over replicas counts each thing once.

Metrics of single nodes and pods come from the leading reaper, and are computed at each scrape. They are about 13 kB a node and 250 bytes
a pod. \`DISABLE_CLUSTER_STATE_OBSERVABILITY=true\` leaves them out ([sizing](../guides/sizing.md)).

| name | kind | from | labels | meaning |
|---|---|---|---|---|
${rowsOf(tablesOf(sources)).join('\n')}
`;
