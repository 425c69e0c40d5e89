import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectKubernetes, type ManifestApi } from '@dovetail/adapter-kubernetes/manifests';
import type { KubeApi, Log } from '@dovetail/core-ports';
import {
  type ControlPlaneKind,
  defaultLabOptions,
  type Lab,
  type LabOptions,
  startLab,
} from '@dovetail/testbed';

const root = join(import.meta.dirname, '..');
const quiet: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (name, message) => process.stderr.write(`${name}: ${message}\n`),
};

/** A lab for measuring: the built services, and functions to change its cluster. */
export type BenchLab = {
  readonly lab: Lab;
  readonly kube: KubeApi & ManifestApi;
  close(): Promise<void>;
};

/** The lab to measure. */
export type BenchLabOptions = Pick<LabOptions, 'env' | 'karpenter'> & {
  readonly world: ControlPlaneKind;
  readonly solvers: number;
  /** Receives a line when a part runs or is restarted. */
  readonly progress?: (line: string) => void;
};

/** Starts a lab. `KEEP_LAB=1` keeps its files, including the services' logs. */
export async function openLab(options: BenchLabOptions): Promise<BenchLab> {
  const dir = await mkdtemp(join(tmpdir(), 'dovetail-bench-'));
  // Leases as in production. A lab's short ones are lost on a busy machine.
  const lab = await startLab({
    ...defaultLabOptions,
    leaseMs: 15_000,
    progress: () => undefined,
    ...options,
    dir,
    distDir: join(root, 'dist'),
    prepare: (kubeconfig) =>
      applyDefinitions(kubeconfig, options.karpenter?.definitions ?? join(root, 'deploy', 'crds')),
  });
  return {
    lab,
    kube: connectKubernetes({ kubeconfigPath: lab.kubeconfig, log: quiet }),
    async close() {
      await lab.stop();
      if (process.env['KEEP_LAB'] === '1')
        process.stderr.write(`the lab's files are kept in ${dir}\n`);
      else await rm(dir, { recursive: true, force: true });
    },
  };
}

async function applyDefinitions(kubeconfigPath: string, folder: string): Promise<void> {
  const kube = connectKubernetes({ kubeconfigPath, log: quiet });
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.yaml')).toSorted())
    await kube.putManifests(await readFile(join(folder, file), 'utf8'));
}
