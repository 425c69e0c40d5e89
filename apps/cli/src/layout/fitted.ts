import { columns, type Layout } from './columns.js';

/** A column of a table that may lose columns. */
export type Column<Row> = {
  readonly name: string;
  readonly cell: (row: Row) => string;
  /** Columns with a greater rank go first when the terminal is narrow. 0: it stays. */
  readonly rank: number;
};

/** The width that a line of these cells needs, when its last one may shorten to 12 columns. */
function widthOf(names: readonly string[], rows: readonly (readonly string[])[]): number {
  const widths = names.map((name, column) =>
    rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), name.length),
  );
  const last = Math.min(12, widths.at(-1) ?? 0);
  return widths.slice(0, -1).reduce((sum, one) => sum + one + 2, last);
}

/** The lines of a table, without the columns that do not fit into the terminal. */
export function fitted<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  layout: Layout,
): string {
  let shown = all;
  let cells = rows.map((row) => all.map(({ cell }) => cell(row)));
  const { width = Number.POSITIVE_INFINITY } = layout;
  for (;;) {
    const names = shown.map(({ name }) => name);
    const rank = Math.max(0, ...shown.map((column) => column.rank));
    if (rank === 0 || widthOf(names, cells) <= width) return columns(names, cells, layout);
    const kept = shown.flatMap((column, index) => (column.rank === rank ? [] : [index]));
    cells = cells.map((row) => kept.map((index) => row[index] ?? ''));
    shown = shown.filter((column) => column.rank !== rank);
  }
}
