import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';

const results = new URL('results/', import.meta.url);

/** Appends a run to `bench/results/<name>.ndjson`, and returns every run in it, oldest first. */
export async function keepRun<T>(name: string, run: T): Promise<readonly T[]> {
  await mkdir(results, { recursive: true });
  const file = new URL(`${name}.ndjson`, results);
  await appendFile(file, `${JSON.stringify(run)}\n`);
  return (await readFile(file, 'utf8'))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** Writes the page of a benchmark, `bench/results/<name>.md`. */
export const writePage = (name: string, text: string): Promise<void> =>
  writeFile(new URL(`${name}.md`, results), text);

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** A table in Markdown. */
export const markdown = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
