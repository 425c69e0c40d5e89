import type { KubeResource } from '@dovetail/core-ports';
import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { createKubeStore, createManualClock, createNodeAgent, inProcessKube } from '../index.js';
import { kwokDelayAnnotation } from './pod-stop.js';

const pods: KubeResource = kubeResources.pods;
const ref = { resource: pods, namespace: 'default', name: 'one' };

/** A running pod on a machine whose containers take 100 ms to end. */
async function runningPod(pod: { readonly annotations?: object; readonly spec: object }) {
  const clock = createManualClock(Date.UTC(2026, 0, 1));
  const kube = inProcessKube(createKubeStore({ clock, seed: 1 }));
  const agent = createNodeAgent({ kube, clock, joinMs: 0, readyMs: 0, podStartMs: 0 });
  void agent.run(new AbortController().signal);
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) {
      await turns();
      clock.advance(100);
    }
    await turns();
  };
  agent.boot({
    nodeName: 'n1',
    providerId: 'aws:///a/n1',
    labels: {},
    taints: [],
    arch: 'amd64',
    kubeletVersion: 'v1.34.3',
    capacity: { cpu: '4', memory: '16Gi', pods: '58' },
    allocatable: { cpu: '4', memory: '16Gi', pods: '58' },
  });
  await kube.create(pods, {
    metadata: { name: 'one', namespace: 'default', annotations: pod.annotations ?? {} },
    spec: { nodeName: 'n1', ...pod.spec },
  } as never);
  await pass(1_000);
  const isThere = async (): Promise<boolean> => (await kube.get(ref)) !== undefined;
  return { kube, pass, isThere };
}

const withHook = (preStop: object, graceSeconds = 30): object => ({
  terminationGracePeriodSeconds: graceSeconds,
  containers: [{ name: 'main', image: 'pause', lifecycle: { preStop } }],
});
const plain = { containers: [{ name: 'main', image: 'pause' }] };

describe('a deleted pod is there', () => {
  test.each([
    ['for the time its containers take', {}, plain, 100],
    [
      'for its sleeping hook and then its containers',
      {},
      withHook({ sleep: { seconds: 10 } }),
      10_100,
    ],
    [
      'for the sleep that its hook executes',
      {},
      withHook({ exec: { command: ['/bin/sh', '-c', 'sleep 5'] } }),
      5_100,
    ],
    [
      'no longer for its hook than its grace period',
      {},
      withHook({ sleep: { seconds: 20 } }, 4),
      4_100,
    ],
    ["for kwok's delay", { [kwokDelayAnnotation]: '1m30s' }, plain, 90_000],
    [
      "for its containers if kwok's delay is no duration",
      { [kwokDelayAnnotation]: 'x' },
      plain,
      100,
    ],
    ['not at all without a grace period', {}, withHook({ sleep: { seconds: 20 } }, 0), 0],
  ])('%s', async (_what, annotations, spec, untilMs) => {
    const { kube, pass, isThere } = await runningPod({ annotations, spec });
    await kube.delete(ref);
    await pass(Math.max(0, untilMs - 100));
    expect(await isThere()).toBe(untilMs > 0);
    await pass(100);
    expect(await isThere()).toBe(false);
  });

  test('no longer than a second deletion with a shorter grace period says', async () => {
    const { kube, pass, isThere } = await runningPod({
      spec: withHook({ sleep: { seconds: 60 } }, 90),
    });
    await kube.delete(ref);
    await pass(5_000);
    await kube.delete(ref, { gracePeriodSeconds: 8 });
    await pass(2_000);
    expect(await isThere()).toBe(true);
    await pass(1_200);
    expect(await isThere()).toBe(false);
  });
});
