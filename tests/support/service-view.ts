import { readFile } from 'node:fs/promises';

import type { Lab, RunningPart } from '@dovetail/testbed';

/** A service process as its operators see it: its log and its HTTP pages. */
type Served = RunningPart & { readonly httpUrl: string };

/** A service of a lab: its log, whose lines name it, and its HTTP pages. */
export type ServiceView = Pick<Served, 'logFile' | 'httpUrl'>;

/**
 * The service of this name. Without a nats-server all services are one part: each has pages at a
 * port of its own, which its log tells. The log calls each solver `solver`.
 */
export async function serviceOf(lab: Lab, name: string): Promise<ServiceView> {
  const apart = lab.parts.get(name);
  if (apart !== undefined) return apart as Served;
  const together = lab.parts.get('services');
  const listening = await logged(together, 'listening');
  const inLog = name.replace(/-\d+$/, '');
  const port = listening.findLast(({ service }) => service === inLog)?.['port'];
  if (together === undefined || typeof port !== 'number')
    throw new Error(`${name} does not run in this lab`);
  return { logFile: together.logFile, httpUrl: `http://127.0.0.1:${String(port)}` };
}

export type LogLine = {
  readonly event: string;
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
};

/** The lines that the part has logged under this name. */
export async function logged(
  part: Pick<RunningPart, 'logFile'> | undefined,
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
  part: RunningPart | ServiceView | undefined,
  name: string,
  labels = '',
): Promise<number> {
  const text = await (await fetch(`${(part as ServiceView).httpUrl}/metrics`)).text();
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
