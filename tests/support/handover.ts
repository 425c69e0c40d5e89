import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { connectKubernetes } from '@dovetail/adapter-kubernetes/manifests';
import type { KubeObject } from '@dovetail/core-ports';
import {
  type KarpenterProgram,
  obtainControlPlane,
  obtainKarpenter,
  obtainKubectl,
  obtainNatsServer,
  type RunningPart,
  startKarpenter,
  startServices,
} from '@dovetail/testbed';

import { claims, nodes } from './cluster.js';
import { poolManifest } from './workload.js';
import { eventually, openWorld, type TestWorld } from './world.js';

/** The real parts of a cluster that passes from Karpenter to Dovetail and back. */
export const handoverParts = {
  plane: () => obtainControlPlane(),
  karpenter: () => obtainKarpenter(),
  kubectl: () => obtainKubectl(),
  nats: () => obtainNatsServer(),
} as const;

/** A cluster that Karpenter runs at first. At most one of the two runs it at any time. */
export type Handover = {
  readonly at: TestWorld;
  /** Karpenter's metrics. */
  readonly metricsUrl: string;
  /** Ends Karpenter, as scaling its Deployment to 0 does. */
  readonly stopKarpenter: () => Promise<void>;
  readonly startKarpenter: () => Promise<void>;
  /** Starts the services. The first time it applies their definitions before, as the guide says. */
  readonly startDovetail: () => Promise<void>;
  /** Ends the services whose parts have such names; all of them if none is given. */
  stopDovetail(names?: RegExp): Promise<void>;
};

const crds = join(import.meta.dirname, '..', '..', 'deploy', 'crds');

/** Starts a real control plane with Karpenter's AWS controller on it, and no service of ours. */
export async function openHandover(program: KarpenterProgram): Promise<Handover> {
  const at = await openWorld({
    world: 'real',
    servicesLeftOut: true,
    prepare: (kubeconfigPath) => applyAll(program.definitions, kubeconfigPath),
  });
  const karpenter = await startKarpenter(at.lab.options, program, at.lab);
  at.lab.parts.set('karpenter', karpenter);
  at.lab.supervisor?.hold('karpenter');
  let isInstalled = false;
  return {
    at,
    metricsUrl: `${karpenter.httpUrl ?? ''}/metrics`,
    stopKarpenter: () => karpenter.stop(),
    startKarpenter: () => karpenter.restart(),
    async startDovetail() {
      if (isInstalled) return restartServices(at);
      await at.kubectl('apply', '--server-side', '--force-conflicts', '-f', crds);
      await startServices(at.lab);
      isInstalled = true;
    },
    async stopDovetail(names = /^/) {
      const ending = services(at).filter(([name]) => names.test(name));
      for (const [name] of ending) at.lab.supervisor?.hold(name);
      await Promise.all(ending.map(([, part]) => part.stop()));
    },
  };
}

async function applyAll(folder: string, kubeconfigPath: string): Promise<void> {
  const quiet = (): undefined => undefined;
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const kube = connectKubernetes({ kubeconfigPath, log });
  for (const file of await readdir(folder))
    await kube.putManifests(await readFile(join(folder, file), 'utf8'));
}

const services = (at: TestWorld): readonly (readonly [string, RunningPart])[] =>
  [...at.lab.parts].filter(([name]) => /^(pod-watcher|solver-\d+|launcher|reaper)$/.test(name));

async function restartServices(at: TestWorld): Promise<void> {
  await Promise.all(services(at).map(([, part]) => part.restart()));
  for (const [name] of services(at)) at.lab.supervisor?.release(name);
}

/** A pool of this name, and the class that all of them share. */
export const namedPool = (
  name: string,
  expireAfter: string,
  options: Omit<Parameters<typeof poolManifest>[0], 'clusterName'>,
): string =>
  poolManifest({ clusterName: 'lab', ...options })
    .replace(
      'kind: NodePool\nmetadata: { name: default }',
      `kind: NodePool\nmetadata: { name: ${name} }`,
    )
    .replace('      requirements:', `      expireAfter: ${expireAfter}\n      requirements:`);

/** Whether Dovetail made the claim. */
export const isOurs = ({ metadata }: KubeObject): boolean =>
  Object.keys(metadata.annotations ?? {}).some((key) => key.startsWith('dovetail.sh/'));

type Condition = { readonly type: string; readonly status: string };

/** The conditions in an object's status. */
export const conditionsOf = (object: KubeObject): readonly Condition[] =>
  (object['status'] as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ??
  [];

/** Waits until every claim is ready and every node open, as the guide says it before a change. */
export const settled = (at: TestWorld): Promise<unknown> =>
  eventually(
    'every claim to be ready, its instance named, and every node open',
    async () => {
      const ready = (await claims(at)).every(
        (claim) =>
          claim.metadata.annotations?.['karpenter.k8s.aws/tagged'] === 'true' &&
          conditionsOf(claim).some(({ type, status }) => type === 'Ready' && status === 'True'),
      );
      const open = (await nodes(at)).every(
        ({ spec }) => spec?.unschedulable !== true && (spec?.taints ?? []).length === 0,
      );
      return ready && open;
    },
    120_000,
  );
