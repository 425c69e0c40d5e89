import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';

/** The results of a long run, as rows. */
export type Table = {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  readonly summary: readonly string[];
};

/** Kept after those of earlier runs, or alone: written anew as a long run goes on. */
export type Keeping = 'after' | 'alone';

const folder = join(import.meta.dirname, '..', 'results');

/** Markdown with columns as wide as their widest cell, so that a terminal shows it well. */
function tableText({ title, columns, rows, summary }: Table): string {
  const lines = [columns, ...rows].map((row) => row.map(String));
  const widths = columns.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const lineOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padStart(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = lines;
  return [
    `## ${title}`,
    '',
    lineOf(head),
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...body.map(lineOf),
    '',
    ...summary.map((line) => `- ${line}`),
    '',
  ].join('\n');
}

/**
 * Prints the table. With KEEP_RESULTS=1 it is also kept in `tests/results/<name>.md`, with the day
 * and the machine.
 */
export async function keepTable(
  name: string,
  table: Table,
  keeping: Keeping = 'after',
): Promise<void> {
  process.stdout.write(`\n${tableText(table)}\n`);
  if (process.env['KEEP_RESULTS'] !== '1') return;
  const when = `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${cpus().length} cores, Node.js ${process.version}`;
  await mkdir(folder, { recursive: true });
  const text = tableText({ ...table, title: `${table.title}: ${when}` });
  const file = join(folder, `${name}.md`);
  await (keeping === 'alone' ? writeFile(file, text) : appendFile(file, `\n${text}`));
}
