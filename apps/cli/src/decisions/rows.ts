import { type Decision, decisionJson } from '@dovetail/contracts';
import { decisionWords } from '@dovetail/service-kit';

import { type Layout, shortened } from '../layout/columns.js';

const header = ['TIME', 'KIND', 'POOL', 'SUMMARY', 'PRICE $/H', 'REASONS', 'TRACE'] as const;
/**
 * Widths that fit most rows, so that a growing table seldom shifts. A longer sentence spills over.
 */
const widthLeast = [20, 13, 10, 40, 9, 0, 0];
const widthMost = [20, 13, 40, 100, 12, 40, 32];
/** A terminal that is narrower has no room for the 32 digits of a trace. */
const tracedWidthLeast = 180;

const timeOf = ({ atMs }: Decision): string => new Date(atMs).toISOString().replace(/\.\d+Z$/, 'Z');

function cellsOf(decision: Decision): readonly string[] {
  const { pool, price, codes } = decisionWords(decision);
  return [
    timeOf(decision),
    decision.kind,
    pool,
    decision.summary,
    price,
    codes.length === 0 ? '-' : codes.join(','),
    decision.traceId ?? '-',
  ];
}

/** One line for machines: the whole decision, with its time also as text. */
export const jsonLine = (decision: Decision): string =>
  `${JSON.stringify(decisionJson(decision))}\n`;

/** The place of the sentence, which shortens on a terminal. */
const summaryColumn = 3;
/** The least width of a shortened sentence. */
const summaryLeast = 24;

/** A table that may be printed in pieces. Columns keep their greatest width so far. */
export class Table {
  readonly #layout: Layout;
  #widths: readonly number[] = header.map((name, column) =>
    Math.max(name.length, widthLeast[column] ?? 0),
  );
  #begun = false;
  /** Whether the last column, with the traces, is shown: if the first decisions have any. */
  #isTraced = false;

  /** On a terminal the sentence shortens, so that no row is longer than its width. */
  constructor(layout: Layout = {}) {
    this.#layout = layout;
  }

  /** The lines of these decisions, with the header before the first ones. */
  lines(decisions: readonly Decision[]): string {
    const { width = Infinity } = this.#layout;
    if (!this.#begun)
      this.#isTraced =
        width >= tracedWidthLeast && decisions.some(({ traceId }) => traceId !== undefined);
    const rows = decisions.map((decision) => this.#shown(cellsOf(decision)));
    this.#widths = this.#widths.map((width, column) =>
      Math.max(
        width,
        ...rows.map((row) => Math.min(row[column]?.length ?? 0, widthMost[column] ?? 0)),
      ),
    );
    const shown = this.#begun ? rows : [this.#shown(header), ...rows];
    this.#begun = true;
    return shown.map((row) => `${this.#line(row)}\n`).join('');
  }

  #shown(cells: readonly string[]): readonly string[] {
    return this.#isTraced ? cells : cells.slice(0, -1);
  }

  #line(row: readonly string[]): string {
    const { width } = this.#layout;
    const summary = row[summaryColumn] ?? '';
    const padded = (text: string): string =>
      row
        .map((cell, column) => (column === summaryColumn ? text : cell))
        .map((cell, column) => cell.padEnd(this.#widths[column] ?? 0))
        .join('  ')
        .trimEnd();
    const line = padded(summary);
    if (width === undefined || line.length <= width) return line;
    const length = Math.max(summaryLeast, summary.length - (line.length - width));
    const cells = row.map((cell, column) =>
      column === summaryColumn ? shortened(summary, length).padEnd(length) : cell,
    );
    const fixed = cells.map((cell, column) =>
      column === summaryColumn
        ? cell
        : cell.padEnd(column < summaryColumn ? (this.#widths[column] ?? 0) : 0),
    );
    return shortened(fixed.join('  ').trimEnd(), width);
  }
}
