import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { freePort, run, type RunningPart, startPart } from '@dovetail/testbed';

/** Says that tests are left out, and why. */
function leftOut(what: string, why: string): undefined {
  process.stdout.write(`LEFT OUT: ${what}: ${why}\n`);
}

/**
 * The name of a program of Prometheus, if it is on PATH. Otherwise prints that this is left out,
 * and answers undefined.
 */
export async function prometheusFor(
  program: 'prometheus' | 'promtool',
  what: string,
): Promise<string | undefined> {
  return run(program, ['--version'], { deadlineMs: 30_000, remedy: 'run it by hand' }).then(
    () => program,
    () => leftOut(what, `no ${program} on PATH (Debian: the package prometheus)`),
  );
}

/**
 * The complaints of `promtool check metrics` about a page in Prometheus' text format, one a line;
 * none if it is clean. A page that cannot be parsed is a complaint, too.
 */
export async function metricsComplaints(
  promtool: string,
  page: string,
): Promise<readonly string[]> {
  const child = spawn(promtool, ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  child.stdin.end(page);
  const code = await new Promise((resolve) => child.on('close', resolve));
  const lines = output.split('\n').filter((line) => line !== '');
  return code === 0 || lines.length > 0 ? lines : [`promtool ended with ${String(code)}`];
}

/** A series of a query's answer, with its values over time. */
export type PrometheusSeries = {
  readonly metric: Readonly<Record<string, string>>;
  /** Seconds since 1970, and the value as text: `NaN` where there is none. */
  readonly values: readonly (readonly [number, string])[];
};

/** A real Prometheus that scrapes this machine, and the questions that tests ask it. */
export type RunningPrometheus = RunningPart & {
  /** The series of a query since the start, a value each second. Rejects with its complaint. */
  query(expr: string): Promise<readonly PrometheusSeries[]>;
};

type QueryAnswer =
  | { readonly status: 'success'; readonly data: { readonly result: readonly PrometheusSeries[] } }
  | { readonly status: 'error'; readonly error: string };

/**
 * Starts a Prometheus that scrapes these addresses each second, and returns when it is ready. Its
 * files are in `dir`. Each series has the name of its service as `service`.
 */
export async function startPrometheus(options: {
  readonly program: string;
  readonly dir: string;
  readonly services: Readonly<Record<string, { readonly httpUrl: string }>>;
}): Promise<RunningPrometheus> {
  const { program, dir } = options;
  const address = `127.0.0.1:${await freePort()}`;
  const configFile = join(dir, 'prometheus.yml');
  const targets = Object.entries(options.services).map(([service, { httpUrl }]) => ({
    targets: [new URL(httpUrl).host],
    labels: { service },
  }));
  await mkdir(dir, { recursive: true });
  // JSON is YAML, too.
  await writeFile(
    configFile,
    JSON.stringify({
      global: { scrape_interval: '1s', scrape_timeout: '1s' },
      scrape_configs: [{ job_name: 'dovetail', static_configs: targets }],
    }),
  );
  const startSeconds = Math.floor(Date.now() / 1_000);
  const part = await startPart({
    name: 'prometheus',
    command: program,
    args: [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${join(dir, 'data')}`,
      `--web.listen-address=${address}`,
    ],
    logFile: join(dir, 'prometheus.log'),
    ready: async () => (await fetch(`http://${address}/-/ready`)).ok,
    readyDeadlineMs: 30_000,
  });
  return Object.assign(part, { query: queriesOf(`http://${address}`, startSeconds) });
}

const queriesOf =
  (url: string, startSeconds: number): RunningPrometheus['query'] =>
  async (expr) => {
    const range = { start: `${startSeconds}`, end: `${Date.now() / 1_000}`, step: '1' };
    const response = await fetch(`${url}/api/v1/query_range`, {
      method: 'POST',
      body: new URLSearchParams({ query: expr, ...range }),
    });
    const answer = (await response.json()) as QueryAnswer;
    if (answer.status === 'error') throw new Error(`${expr}: ${answer.error}`);
    return answer.data.result;
  };

/** Whether any of these series has a number. */
export const hasData = (series: readonly PrometheusSeries[]): boolean =>
  series.some(({ values }) => values.some(([, value]) => Number.isFinite(Number(value))));
