/** How a table is laid out. */
export type Layout = {
  /** The columns of the terminal. Undefined: nothing is shortened, as for a file or a pipe. */
  readonly width?: number;
};

/** The least width of a shortened column: some letters and the sign that more follow. */
const leastWidth = 12;
const gap = '  ';

/** The text, cut to a width; the last character then says that more follows. */
export const shortened = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;

/**
 * The lines of a table. On a terminal no line is longer than its width: the last column shortens,
 * and ends with `…`.
 */
export function columns(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  { width }: Layout = {},
): string {
  const widths = header.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const before = widths.slice(0, -1).reduce((sum, one) => sum + one + gap.length, 0);
  const last =
    width === undefined ? Number.POSITIVE_INFINITY : Math.max(leastWidth, width - before);
  const end = header.length - 1;
  return [header, ...rows]
    .map((row) => {
      const cells = row.map((cell, column) =>
        column === end ? shortened(cell, last) : cell.padEnd(widths[column] ?? 0),
      );
      return `${shortened(cells.join(gap).trimEnd(), width ?? Number.POSITIVE_INFINITY)}\n`;
    })
    .join('');
}
