import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectKubernetes, type ManifestApi } from '@dovetail/adapter-kubernetes/manifests';
import type { Clock, KubeApi, Log, StopSignal } from '@dovetail/core-ports';
import {
  createKubeStore,
  createNodeAgent,
  createOffsetClock,
  type NodeAgent,
  serveKube,
  startKubeControllers,
} from '@dovetail/sim-kube';
import {
  controllersDefault,
  forTests,
  isUnavailable,
  obtainControlPlane,
  startControlPlane,
  volumeControllers,
} from '@dovetail/testbed';

import { type Kubectl, kubectlWith } from './kubectl.js';

/**
 * A cluster under test. Every call goes through a kubeconfig, so the twin and the real control
 * plane look the same.
 */
export type KubeUnderTest = {
  readonly kubeconfig: string;
  readonly kube: KubeApi & ManifestApi;
  readonly agent: NodeAgent;
  readonly kubectl: Kubectl;
  readonly stop: () => Promise<void>;
};

const quiet: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const realClock: Clock = {
  nowMs: () => Date.now(),
  sleep: (durationMs: number, stop: StopSignal) =>
    new Promise((resolve) => {
      if (stop.aborted) return resolve();
      const timer = setTimeout(resolve, durationMs);
      stop.addEventListener(
        'abort',
        () => {
          clearTimeout(timer);
          resolve();
        },
        { once: true },
      );
    }),
};

function underTest(kubeconfig: string, close: () => Promise<void>): KubeUnderTest {
  const kube = connectKubernetes({ kubeconfigPath: kubeconfig, log: quiet });
  const agent = createNodeAgent({
    kube,
    clock: realClock,
    joinMs: 10,
    readyMs: 10,
    podStartMs: 50,
    podStopMs: 20,
  });
  const ended = new AbortController();
  const running = agent.run(ended.signal).catch(() => undefined);
  const stop = async (): Promise<void> => {
    ended.abort();
    for (const name of agent.nodeNames()) agent.halt(name);
    await close();
    await running;
  };
  return { kubeconfig, kube, agent, kubectl: kubectlWith(kubeconfig), stop };
}

/** The twin, behind HTTP. */
export async function startTwin(): Promise<KubeUnderTest> {
  const dir = await mkdtemp(join(tmpdir(), 'conformance-twin-'));
  const store = createKubeStore({ clock: createOffsetClock(), seed: 1 });
  const controllers = startKubeControllers(store, { without: ['nodeLifecycle'] });
  const served = await serveKube(store);
  const kubeconfig = join(dir, 'kubeconfig');
  await writeFile(kubeconfig, served.kubeconfig);
  return underTest(kubeconfig, async () => {
    controllers.stop();
    await served.close();
    await rm(dir, { recursive: true, force: true });
  });
}

/** The real control plane, if its programs are in the cache; otherwise the reason why not. */
export async function startReal(): Promise<KubeUnderTest | { readonly unavailable: string }> {
  const programs = await forTests(obtainControlPlane);
  if (isUnavailable(programs)) return programs;
  const dir = await mkdtemp(join(tmpdir(), 'conformance-real-'));
  const plane = await startControlPlane({
    paths: programs.paths,
    dir,
    clusterName: 'conformance',
    controllers: [
      ...controllersDefault,
      ...volumeControllers,
      'cronjob-controller',
      'horizontal-pod-autoscaler-controller',
    ],
  });
  return underTest(plane.kubeconfig, async () => {
    await plane.stop();
    await rm(dir, { recursive: true, force: true });
  });
}
