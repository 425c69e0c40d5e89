import { join } from 'node:path';

import { lookUp } from '@dovetail/core-invariant';

import { httpRequest } from '../process/http.js';
import { type RunningPart, startPart } from '../process/part.js';
import { freePort } from '../process/ports.js';
import { seedOf } from './bus-users.js';
import type { LabOptions } from './options.js';

/** The addresses of the outside parts, except the bus. */
export type Addresses = {
  readonly kubeconfig: string;
  readonly cloudUrl: string;
  readonly clockFile: string;
};

/** The environment of every service, as a chart would set it, except the address of the bus. */
export function serviceEnv(options: LabOptions, at: Addresses): Readonly<Record<string, string>> {
  return {
    CLUSTER_NAME: options.clusterName,
    KUBECONFIG: at.kubeconfig,
    AWS_REGION: options.region,
    AWS_ENDPOINT_URL: at.cloudUrl,
    AWS_SECRET_ACCESS_KEY: 'lab',
    INTERRUPTION_QUEUE: options.clusterName,
    DEFAULT_INSTANCE_PROFILE: `KarpenterNodeInstanceProfile-${options.clusterName}`,
    LEASE_DURATION: `${options.leaseMs}ms`,
    LEASE_NAMESPACE: 'kube-system',
    PLACEMENT: options.placement,
    TEST_CLOCK_FILE: at.clockFile,
    LOG_LEVEL: 'info',
  };
}

/** The cloud twin knows each service by an access key of its name. */
const identityOf = (program: string): Readonly<Record<string, string>> => ({
  AWS_ACCESS_KEY_ID: program,
});

/** The services of a lab, by the names of their parts. The console shows the others. */
export const serviceNames = (options: LabOptions): readonly string[] => [
  'pod-watcher',
  ...Array.from({ length: options.solvers }, (_, index) => `solver-${index}`),
  'launcher',
  'reaper',
  ...(options.console === true ? ['console'] : []),
];

/**
 * The most that the objects of each service may take, in MiB, as in the chart's values. A process
 * takes about 100 MiB more. Without a limit, V8 lets garbage grow to a share of the machine.
 */
export const serviceHeapMiB: Readonly<Record<string, number>> = {
  'pod-watcher': 288,
  solver: 288,
  launcher: 400,
  reaper: 384,
  console: 256,
};

/** The arguments of Node.js that start a service's bundle, as in the chart. */
const argsOf = (program: string, file: string): readonly string[] => {
  const heap = lookUp(serviceHeapMiB, program);
  return [...(heap === undefined ? [] : [`--max-old-space-size=${heap}`]), file];
};

/** Starts one service from its bundle. Returns when it reports that it is ready. */
export async function startService(
  options: LabOptions,
  name: string,
  env: Readonly<Record<string, string>>,
  parts: Map<string, RunningPart>,
): Promise<RunningPart> {
  const program = name.replace(/-\d+$/, '');
  const port = await freePort();
  const pagePort = program === 'console' ? await freePort() : undefined;
  const part = await startPart({
    name,
    command: process.execPath,
    args: argsOf(program, join(options.distDir, `${program}.js`)),
    logFile: join(options.dir, 'logs', `${name}.log`),
    env: {
      ...env,
      ...identityOf(program),
      NATS_CREDENTIALS: seedOf(options, program),
      ...options.env?.['*'],
      ...lookUp(options.env, program),
      HTTP_PORT: String(port),
      HTTP_HOST: '127.0.0.1',
      REPLICA_NAME: name,
      ...(pagePort === undefined ? {} : { PAGE_PORT: String(pagePort) }),
    },
    ready: async () => (await httpRequest(`http://127.0.0.1:${port}/readyz`)).status === 200,
    readyDeadlineMs: 60_000,
  });
  const pageUrl = pagePort === undefined ? {} : { pageUrl: `http://127.0.0.1:${pagePort}` };
  parts.set(name, Object.assign(part, { httpUrl: `http://127.0.0.1:${port}`, ...pageUrl }));
  return part;
}

/**
 * Starts all services in one process with the bus in it, for machines without a nats-server. Other
 * processes may follow that bus at `busPort`.
 */
export async function startServicesTogether(
  options: LabOptions,
  env: Readonly<Record<string, string>>,
  at: { readonly busPort: number },
  parts: Map<string, RunningPart>,
): Promise<RunningPart> {
  const port = await freePort();
  const ofServices = ['*', 'pod-watcher', 'solver', 'launcher', 'reaper'].map(
    (name) => lookUp(options.env, name) ?? {},
  );
  const part = await startPart({
    name: 'services',
    command: process.execPath,
    args: [join(options.distDir, 'lab.js'), 'services'],
    logFile: join(options.dir, 'logs', 'services.log'),
    env: Object.assign({ ...env, ...identityOf('services') }, ...ofServices, {
      SOLVERS: String(options.solvers),
      BUS_PORT: String(at.busPort),
      HTTP_PORT: String(port),
      HTTP_HOST: '127.0.0.1',
      REPLICA_NAME: 'services',
    }) as Record<string, string>,
    ready: async () => (await httpRequest(`http://127.0.0.1:${port}/readyz`)).status === 200,
    readyDeadlineMs: 60_000,
  });
  parts.set('services', Object.assign(part, { httpUrl: `http://127.0.0.1:${port}` }));
  return part;
}
