import { Cluster } from '@dovetail/core-cluster';
import { type KubeObject, Stopper, type WatchEvent } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { podObject } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';

import { watchCluster } from './watches.js';

const quiet = (): void => undefined;

const reading = (name: string, resourceVersion: string, cpu: string): KubeObject => {
  const pod = podObject(name, { cpu, spec: { nodeName: 'n' } });
  return { ...pod, metadata: { ...pod.metadata, uid: name, resourceVersion } };
};

/** The cluster after the watch of pods has shown these events. */
async function afterPods(script: readonly WatchEvent<KubeObject>[]): Promise<Cluster> {
  const stop = new Stopper();
  const watch = async function* <T>(options: {
    resource: { plural: string };
    project: (object: KubeObject) => T;
  }): AsyncGenerator<WatchEvent<T>> {
    if (options.resource.plural !== 'pods') return;
    for (const event of script) {
      await Promise.resolve();
      yield event.kind === 'set' ? { kind: 'set', value: options.project(event.value) } : event;
    }
    stop.abort();
  };
  const cluster = new Cluster();
  const deps = {
    kube: { serves: () => Promise.resolve(true), watch },
    clock: virtualClock(0),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    metrics: { count: quiet, observe: quiet, set: quiet, remove: quiet },
  };
  await watchCluster(deps, cluster, { major: 1, minor: 34 }, stop);
  return cluster;
}

test('readings of a server that was restored count, although their versions are older', async () => {
  const cluster = await afterPods([
    { kind: 'set', value: reading('a', '200', '2') },
    { kind: 'synced' },
    { kind: 'restored' },
    { kind: 'set', value: reading('a', '100', '1') },
    { kind: 'synced' },
  ]);
  expect(cluster.pods.get('a')).toMatchObject({ resourceVersion: '100', requests: { cpu: 1000 } });
});

test('pods that are equal in a part have it once in memory', async () => {
  const { pods } = await afterPods([
    { kind: 'set', value: reading('a', '1', '2') },
    { kind: 'set', value: reading('b', '2', '2') },
  ]);
  expect(pods.get('b')?.requests).toEqual({ cpu: 2_000, memory: expect.any(Number), pods: 1 });
  expect(pods.get('b')?.requests).toBe(pods.get('a')?.requests);
});
