import { spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stopOnSignals } from '@dovetail/runtime';
import { defaultLabOptions, isAlive, type Lab, type LabOptions, startLab, waitFor } from '@dovetail/testbed';
import { applyCustomResources } from './custom-resources.js';

/** The folder of the lab that `make lab` leaves running. */
export const labDir = '.lab';
const pidFile = join(labDir, 'pid');

/** Options from the environment, as the Makefile passes them. */
export function labOptions(dir: string, progress: (line: string) => void): LabOptions {
  const env = process.env;
  const solvers = Number(env['SOLVERS'] ?? '1');
  if (!Number.isInteger(solvers) || solvers < 1 || solvers > 20) throw new Error(`SOLVERS is ${env['SOLVERS'] ?? ''}: give a number of solver processes from 1 to 20`);
  return {
    ...defaultLabOptions, dir, distDir: import.meta.dirname, progress, solvers,
    world: env['REAL'] === '1' ? 'real' : 'twin',
    region: env['REGION'] || defaultLabOptions.region,
    clusterName: env['CLUSTER_NAME'] || defaultLabOptions.clusterName,
    prepare: (kubeconfig) => applyCustomResources(kubeconfig, join(import.meta.dirname, '..', 'deploy', 'crds')),
    ...(env['ZONES'] === undefined || env['ZONES'] === '' ? {} : { zones: env['ZONES'].split(',') }),
    placement: env['PLACEMENT'] === 'scheduler' ? 'scheduler' : 'bind',
  };
}

/** Starts the lab. Detached: in a process of its own that outlives this one; returns when all services are ready. */
export async function labUp({ detach }: { readonly detach: boolean }): Promise<void> {
  if (!detach) return supervise();
  const running = await runningPid();
  if (running !== undefined) throw new Error(`a lab is running already (process ${running}); end it with make lab-down`);
  await mkdir(labDir, { recursive: true });
  await rm(join(labDir, 'ready'), { force: true });
  const log = openSync(join(labDir, 'lab.log'), 'w');
  const child = spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, 'lab.js'), 'supervise'], { detached: true, stdio: ['ignore', log, log] });
  child.unref();
  await writeFile(pidFile, String(child.pid));
  process.stdout.write(`starting the lab (${process.env['REAL'] === '1' ? 'real control plane: the first time it is built, about five minutes' : 'twins'}); log: ${labDir}/lab.log\n`);
  await waitFor(() => existsSync(join(labDir, 'ready')) || (child.pid !== undefined && !isAlive(child.pid) ? failStart() : false), { what: 'the lab to be ready', deadlineMs: 900_000, everyMs: 200 });
  process.stdout.write(await readFile(join(labDir, 'ready'), 'utf8'));
}

function failStart(): never {
  throw new Error(`the lab ended while starting; see ${labDir}/lab.log and ${labDir}/logs/`);
}

async function supervise(): Promise<void> {
  const stop = stopOnSignals();
  const lab = await startLab(labOptions(labDir, (line) => process.stdout.write(`${line}\n`)));
  if (lab.kubeconfig !== join(labDir, 'kubeconfig')) await copyFile(lab.kubeconfig, join(labDir, 'kubeconfig'));
  await writeFile(join(labDir, 'nats-url'), lab.natsUrl);
  await writeFile(join(labDir, 'ready'), welcome(lab));
  await new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve(), { once: true }));
  await lab.stop();
  await rm(join(labDir, 'ready'), { force: true });
  await rm(pidFile, { force: true });
}

const welcome = (lab: Lab): string => `
The lab runs:
${lab.inventory.map((line) => `  ${line}`).join('\n')}

Try:
  export KUBECONFIG=${labDir}/kubeconfig
  kubectl apply -f examples/inflate.yaml          # a NodePool, its class and a deployment
  kubectl get nodeclaims -o wide -w
  node dist/cli.js decisions --follow             # every decision, with reasons and prices
  kubectl scale deployment/inflate --replicas=20
  kubectl scale deployment/inflate --replicas=0
  make lab-down                                   # end it
`;

async function runningPid(): Promise<number | undefined> {
  const text = await readFile(pidFile, 'utf8').catch(() => '');
  const pid = Number(text);
  return text !== '' && Number.isInteger(pid) && isAlive(pid) ? pid : undefined;
}

export async function labDown(): Promise<void> {
  const pid = await runningPid();
  if (pid === undefined) {
    process.stdout.write('no lab is running\n');
    return;
  }
  process.kill(pid, 'SIGTERM');
  await waitFor(() => !isAlive(pid), { what: 'the lab to end', deadlineMs: 60_000, everyMs: 100 });
  process.stdout.write('the lab has ended\n');
}
