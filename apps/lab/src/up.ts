import { spawn } from 'node:child_process';
import { existsSync, openSync, rmSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { stopOnSignals } from '@dovetail/runtime';
import {
  defaultLabOptions,
  isAlive,
  isUnavailable,
  type Lab,
  type LabOptions,
  obtainKarpenter,
  obtainKubectl,
  startLab,
  TestbedError,
  waitFor,
} from '@dovetail/testbed';

import { applyCustomResources } from './custom-resources.js';
import { autoscalerOf, labOptions } from './options.js';

/** The folder of the lab that `make lab` leaves running. */
const labDir = '.lab';
const pidFile = join(labDir, 'pid');
/** The files in which `dovetail` finds the bus, reaper and cloud twin of this folder's lab. */
const addressFiles = {
  nats: join(labDir, 'nats-url'),
  reaper: join(labDir, 'reaper-url'),
  cloud: join(labDir, 'cloud-url'),
} as const;

/** Enough to build a control plane and Karpenter on two busy cores. */
const startDeadlineMs = 45 * 60_000;

/** The options, with Karpenter and its definitions where it is asked for. */
async function withAutoscaler(options: LabOptions): Promise<LabOptions> {
  if (autoscalerOf(process.env) === 'dovetail') return options;
  const karpenter = await obtainKarpenter({ log: options.progress });
  if (isUnavailable(karpenter))
    throw new TestbedError({
      failed: `no Karpenter: ${karpenter.unavailable}`,
      remedy: 'or run without AUTOSCALER=karpenter to use Dovetail',
    });
  const { definitions } = karpenter;
  return {
    ...options,
    karpenter,
    prepare: (kubeconfig) => applyCustomResources(kubeconfig, definitions),
  };
}

/**
 * Starts the lab and returns when all services are ready. Detached: in a process that outlives this
 * one.
 */
export async function labUp({ detach }: { readonly detach: boolean }): Promise<void> {
  if (!detach) return supervise();
  labOptions(labDir, () => undefined); // report errors in them here, not in a log
  const running = await runningPid();
  if (running !== undefined)
    throw new TestbedError({
      failed: `a lab is running already (process ${running})`,
      remedy: 'use it, or end it with make lab-down',
    });
  // The twins begin empty, so nothing of an earlier lab may remain.
  await rm(labDir, { recursive: true, force: true });
  await mkdir(labDir, { recursive: true });
  const logFile = join(labDir, 'lab.log');
  const log = openSync(logFile, 'w');
  const child = spawn(
    process.execPath,
    [...process.execArgv, join(import.meta.dirname, 'lab.js'), 'supervise'],
    { detached: true, stdio: ['ignore', log, log] },
  );
  child.unref();
  await writeFile(pidFile, String(child.pid));
  process.stdout.write(
    `starting the lab (${process.env['REAL'] === '1' ? 'real control plane: the first time it is built, about five minutes' : 'twins'}); log: ${logFile}\n`,
  );
  const stop = new AbortController();
  const telling = tellProgress(logFile, stop.signal);
  await waitFor(
    () =>
      existsSync(join(labDir, 'ready')) ||
      (child.pid !== undefined && !isAlive(child.pid) ? failStart() : false),
    { what: 'the lab to be ready', deadlineMs: startDeadlineMs, everyMs: 200 },
  ).finally(async () => {
    stop.abort();
    await telling;
  });
  process.stdout.write(await readFile(join(labDir, 'ready'), 'utf8'));
}

/** Prints the progress of the starting lab as it comes, because downloads and builds take time. */
async function tellProgress(logFile: string, stop: AbortSignal): Promise<void> {
  let told = 0;
  while (!stop.aborted) {
    await delay(200, undefined, { signal: stop }).catch(() => undefined);
    const lines = (await readFile(logFile, 'utf8').catch(() => '')).split('\n').slice(0, -1);
    for (const line of lines.slice(told)) process.stdout.write(`  ${line}\n`);
    told = lines.length;
  }
}

function failStart(): never {
  throw new TestbedError({
    failed: 'the lab ended while starting',
    remedy: `read the lines above, ${labDir}/lab.log and ${labDir}/logs/`,
  });
}

async function supervise(): Promise<void> {
  const stop = stopOnSignals().signal;
  const progress = (line: string): void => void process.stdout.write(`${line}\n`);
  const options = {
    ...labOptions(labDir, progress),
    console: autoscalerOf(process.env) === 'dovetail',
  };
  const lab = await startLab(await withAutoscaler(options));
  if (lab.kubeconfig !== join(labDir, 'kubeconfig'))
    await copyFile(lab.kubeconfig, join(labDir, 'kubeconfig'));
  await writeAddresses(lab);
  await writeFile(
    join(labDir, 'ready'),
    welcome(lab, { kubectl: await kubectlHint(progress), example: await exampleFor(lab) }),
  );
  await new Promise<void>((resolve) =>
    stop.addEventListener('abort', () => resolve(), { once: true }),
  );
  await rm(join(labDir, 'ready'), { force: true });
  await lab.stop();
  removeAddresses();
  await rm(pidFile, { force: true });
}

/** Leaves the addresses of the lab's parts. Karpenter has neither bus nor reaper. */
async function writeAddresses({ natsUrl, cloudUrl, parts }: Lab): Promise<void> {
  const reaper = (parts.get('reaper') ?? parts.get('services'))?.httpUrl;
  if (natsUrl !== '') await writeFile(addressFiles.nats, natsUrl);
  if (reaper !== undefined) await writeFile(addressFiles.reaper, reaper);
  await writeFile(addressFiles.cloud, cloudUrl);
}

function removeAddresses(): void {
  for (const file of Object.values(addressFiles)) rmSync(file, { force: true });
}

/**
 * Lets `dovetail` in this folder find a running demo, unless a lab runs too. Returns the undo.
 */
export async function publishAddresses(lab: Lab): Promise<() => void> {
  if ((await runningPid()) !== undefined) return () => undefined;
  await mkdir(labDir, { recursive: true });
  await writeAddresses(lab);
  return removeAddresses;
}

/** Empty if `kubectl` is on PATH. Otherwise a hint how to get it, or why it is unavailable. */
async function kubectlHint(progress: (line: string) => void): Promise<string> {
  const found = await obtainKubectl({ log: progress });
  if (isUnavailable(found))
    return `  # kubectl is not installed and could not be downloaded (${found.unavailable.split('\n', 1)[0]}): see https://kubernetes.io/docs/tasks/tools\n`;
  const onPath = (process.env['PATH'] ?? '').split(delimiter).includes(dirname(found.path));
  return onPath
    ? ''
    : `  # kubectl is not on your PATH; this one will do\n  alias kubectl=${found.path}\n`;
}

/**
 * The example for this cluster's name. Its selectors name the cluster, so another name needs a
 * copy.
 */
async function exampleFor({ options: { distDir, clusterName } }: Lab): Promise<string> {
  const example = 'examples/inflate.yaml';
  if (clusterName === defaultLabOptions.clusterName) return example;
  const manifest = await readFile(join(distDir, '..', example), 'utf8');
  await writeFile(join(labDir, 'inflate.yaml'), manifest.replaceAll(/\blab\b/g, clusterName));
  return join(labDir, 'inflate.yaml');
}

const welcome = (
  lab: Lab,
  { kubectl, example }: { readonly kubectl: string; readonly example: string },
): string => `
The lab runs:
${lab.inventory.map((line) => `  ${line}`).join('\n')}
  (libs/sim/README.md lists what the twins serve, and what not)

Try:
  export KUBECONFIG=${labDir}/kubeconfig
${kubectl}  # a NodePool, its class and a deployment
  kubectl apply -f ${example}
  kubectl wait nodepool/default --for=condition=Ready
  kubectl scale deployment/inflate --replicas=20
  kubectl get nodeclaims -o wide
${consoleHint(lab)}${decisionsHint(lab)}${leversHint}  kubectl scale deployment/inflate --replicas=0
  # end it
  make lab-down
`;

/** Without a nats-server there is no console. */
function consoleHint({ parts }: Lab): string {
  const page = parts.get('console')?.pageUrl;
  return page === undefined ? '' : `  # the cluster on a page, live: ${page}\n`;
}

/** The levers are the cloud twin's, so Karpenter has them too. */
const leversHint = `  # let AWS misbehave: interrupt, drain-zone, fail, price, clock and more
  npx dovetail lab --help
`;

/** Karpenter publishes no decisions; its log says what it did. */
const decisionsHint = (lab: Lab): string =>
  lab.options.karpenter === undefined
    ? `  # what was decided, with reasons and prices; --follow goes on
  npx dovetail decisions${clusterFlag(lab)}
  # who leads, nodes and prices, what waits and why
  npx dovetail status${clusterFlag(lab)}
  # nodes as they fill; q ends
  npx dovetail top
  # why a node stays or goes, and why a pod waits; also pool, claim and decision
  npx dovetail explain node NAME
  npx dovetail explain pod default/NAME${clusterFlag(lab)}
`
    : `  # what Karpenter did
  tail -f ${labDir}/logs/karpenter.log
`;

/** The `--cluster` flag for the command line; empty for the lab's default name. */
export const clusterFlag = ({ options: { clusterName } }: Lab): string =>
  clusterName === defaultLabOptions.clusterName ? '' : ` --cluster ${clusterName}`;

async function runningPid(): Promise<number | undefined> {
  const text = await readFile(pidFile, 'utf8').catch(() => '');
  const pid = Number(text);
  return text !== '' && Number.isInteger(pid) && isAlive(pid) ? pid : undefined;
}

/** Ends the lab that runs, and waits up to a minute for its end. Without a lab it only says so. */
export async function labDown(): Promise<void> {
  const pid = await runningPid();
  if (pid === undefined) {
    process.stdout.write('no lab is running\n');
    return;
  }
  process.kill(pid, 'SIGTERM');
  process.stdout.write('ending the lab…\n');
  await waitFor(() => !isAlive(pid), { what: 'the lab to end', deadlineMs: 60_000, everyMs: 100 });
  process.stdout.write('the lab has ended\n');
}
