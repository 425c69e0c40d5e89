import { readFile } from 'node:fs/promises';

import type { RunningPart } from '@dovetail/testbed';

/** A service process as its operators see it: its log and its HTTP pages. */
type Served = RunningPart & { readonly httpUrl: string };

export type LogLine = {
  readonly event: string;
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
};

/** The lines that the part has logged under this name. */
export async function logged(
  part: RunningPart | undefined,
  event: string,
): Promise<readonly LogLine[]> {
  const text = part === undefined ? '' : await readFile(part.logFile, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line.startsWith('{') && line.includes(event))
    .map((line) => JSON.parse(line) as LogLine)
    .filter((line) => line.event === event);
}

/** The sum of a metric over all of its series whose labels contain the given text. */
export async function metric(
  part: RunningPart | undefined,
  name: string,
  labels = '',
): Promise<number> {
  const text = await (await fetch(`${(part as Served).httpUrl}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => line.startsWith(name) && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** 200 when ready, 503 when it waits for something, 0 without an answer. */
export async function status(
  part: RunningPart | undefined,
  page: 'healthz' | 'readyz',
): Promise<number> {
  return fetch(`${(part as Served).httpUrl}/${page}`).then(
    (response) => response.status,
    () => 0,
  );
}
