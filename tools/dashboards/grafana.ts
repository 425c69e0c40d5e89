/** One line, or one set of lines, of a panel. */
export type Query = {
  /** In PromQL. It may use the variables of `dashboardJson` and those of Grafana itself. */
  readonly expr: string;
  /** The name of each line. Labels stand in `{{…}}`. */
  readonly legend: string;
};

/** One panel: a title, a sentence that says how to read it, and its queries. */
type Panel = {
  readonly title: string;
  readonly about: string;
  /** The unit of its values, by Grafana's name. Default: `short`, a plain number. */
  readonly unit?: 's' | 'bytes' | 'currencyUSD' | 'percentunit' | 'ops';
  /** A single number, for a value that is read at a glance. Default: lines over time. */
  readonly shape?: 'stat';
  /**
   * The cause without which the panel is empty, as a clause after "Empty until". Absent: it always
   * has data.
   */
  readonly emptyUntil?: string;
  readonly queries: readonly Query[];
};

/** A dashboard: rows of panels from top to bottom. */
export type Dashboard = {
  /** Its file name, and the end of its id in Grafana. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
};

const columns = 24;
/** Three lines of panels beside each other, or six numbers. */
const sizes = { lines: { w: 8, h: 8 }, stat: { w: 4, h: 4 } } as const;
const source = { type: 'prometheus', uid: '${datasource}' } as const;

/** The variables of every dashboard: where the metrics are, and which pools are shown. */
const variables = [
  { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
  {
    name: 'nodepool',
    label: 'Pool',
    type: 'query',
    datasource: source,
    query: { query: 'label_values(karpenter_nodepools_usage, nodepool)', refId: 'nodepool' },
    refresh: 2,
    includeAll: true,
    multi: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
  },
  // Adds labels to every query: of one cluster or namespace, where a Prometheus scrapes several.
  { name: 'filters', label: 'Filters', type: 'adhoc', datasource: source },
];

type Place = { readonly id: number; readonly x: number; readonly y: number };

/** The names of a panel's queries, in their order. */
const queryNames = 'ABCDEFGH';

const sizeOf = ({ shape }: Panel): { readonly w: number; readonly h: number } =>
  shape === 'stat' ? sizes.stat : sizes.lines;

function panelJson(panel: Panel, { id, x, y }: Place): object {
  const isStat = panel.shape === 'stat';
  const empty = panel.emptyUntil === undefined ? '' : ` Empty until ${panel.emptyUntil}.`;
  return {
    id,
    type: isStat ? 'stat' : 'timeseries',
    title: panel.title,
    description: `${panel.about}${empty}`,
    datasource: source,
    gridPos: { x, y, ...sizeOf(panel) },
    fieldConfig: { defaults: { unit: panel.unit ?? 'short', min: 0 }, overrides: [] },
    options: isStat
      ? { reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false } }
      : { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: panel.queries.map(({ expr, legend }, index) => ({
      refId: queryNames[index],
      datasource: source,
      expr,
      legendFormat: legend,
    })),
  };
}

const rowJson = (title: string, id: number, y: number): object => ({
  id,
  type: 'row',
  title,
  collapsed: false,
  gridPos: { x: 0, y, w: columns, h: 1 },
  panels: [],
});

/** The panels of all rows with their places: a row fills its lines from left to right. */
function panelsJson(rows: Dashboard['rows']): readonly object[] {
  const placed: object[] = [];
  let y = 0;
  for (const { title, panels } of rows) {
    placed.push(rowJson(title, placed.length + 1, y));
    y += 1;
    let x = 0;
    let height = 0;
    for (const panel of panels) {
      const { w, h } = sizeOf(panel);
      if (x + w > columns) {
        x = 0;
        y += height;
        height = 0;
      }
      placed.push(panelJson(panel, { id: placed.length + 1, x, y }));
      x += w;
      height = Math.max(height, h);
    }
    y += height;
  }
  return placed;
}

/** The dashboard as Grafana (10 or newer) imports it, or finds it in a ConfigMap. */
export const dashboardJson = ({ name, title, about, rows }: Dashboard): string =>
  `${JSON.stringify(
    {
      uid: `dovetail-${name}`,
      title: `Dovetail / ${title}`,
      description: about,
      tags: ['dovetail'],
      schemaVersion: 39,
      editable: true,
      graphTooltip: 1,
      refresh: '30s',
      time: { from: 'now-6h', to: 'now' },
      timezone: 'browser',
      links: [
        {
          type: 'dashboards',
          title: 'Dovetail',
          tags: ['dovetail'],
          asDropdown: true,
          keepTime: true,
        },
      ],
      templating: { list: variables },
      panels: panelsJson(rows),
    },
    null,
    2,
  )}\n`;
