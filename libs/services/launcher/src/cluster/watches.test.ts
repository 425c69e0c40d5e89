import { Cluster } from '@dovetail/core-cluster';
import { type KubeObject, Stopper, type WatchEvent } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { podObject } from '@dovetail/sim-stage';
import { expect, test } from '@jest/globals';

import { watchCluster } from './watches.js';

const quiet = (): void => undefined;

test('readings of a server that was restored count, although their versions are older', async () => {
  const reading = (version: string, cpu: string): KubeObject => {
    const pod = podObject('a', { cpu });
    return { ...pod, metadata: { ...pod.metadata, uid: 'a', resourceVersion: version } };
  };
  const script: readonly WatchEvent<KubeObject>[] = [
    { kind: 'set', value: reading('200', '2') },
    { kind: 'synced' },
    { kind: 'restored' },
    { kind: 'set', value: reading('100', '1') },
    { kind: 'synced' },
  ];
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
    metrics: { count: quiet, observe: quiet, set: quiet },
  };
  await watchCluster(deps, cluster, { major: 1, minor: 34 }, stop);
  expect(cluster.pods.get('a')).toMatchObject({ resourceVersion: '100', requests: { cpu: 1000 } });
});
