import { type KubeObject, kubeResources, type WatchEvent } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { createKubeStore, createManualClock, inProcessKube } from '../index.js';

const startMs = Date.UTC(2026, 0, 1);
const setup = () => {
  const clock = createManualClock(startMs);
  const store = createKubeStore({ clock, seed: 1 });
  return { clock, store, kube: inProcessKube(store) };
};
const pod = (name: string, extra: object = {}): KubeObject => ({
  metadata: { name, namespace: 'default' },
  spec: { containers: [{ name: 'main', image: 'pause:3.9' }], ...extra },
});
const { pods, nodes } = kubeResources;

describe('the in-process Kubernetes API', () => {
  test('a created pod is pending, has a uid and the defaults of a pod', async () => {
    const { kube } = setup();
    const made = await kube.create(pods, pod('a'));
    expect(made).toMatchObject({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { creationTimestamp: '2026-01-01T00:00:00Z' },
      spec: { restartPolicy: 'Always', priority: 0 },
      status: { phase: 'Pending' },
    });
    expect(await kube.get({ resource: pods, namespace: 'default', name: 'a' })).toEqual(made);
  });

  test.each([
    [
      'creating it twice',
      'already-exists',
      (kube: ReturnType<typeof inProcessKube>) => kube.create(pods, pod('a')),
    ],
    [
      'replacing an old version',
      'conflict',
      (kube: ReturnType<typeof inProcessKube>) =>
        kube.replace(pods, {
          ...pod('a'),
          metadata: { ...pod('a').metadata, resourceVersion: '1' },
        }),
    ],
    [
      'an unknown resource',
      'no-such-resource',
      (kube: ReturnType<typeof inProcessKube>) => kube.list(kubeResources.nodePools),
    ],
    [
      'a pod without containers',
      'invalid',
      (kube: ReturnType<typeof inProcessKube>) =>
        kube.create(pods, { metadata: { name: 'b', namespace: 'default' }, spec: {} }),
    ],
    [
      'a namespace that is not there',
      'not-found',
      (kube: ReturnType<typeof inProcessKube>) =>
        kube.create(pods, { ...pod('b'), metadata: { name: 'b', namespace: 'nowhere' } }),
    ],
    [
      'binding a bound pod',
      'conflict',
      async (kube: ReturnType<typeof inProcessKube>) => {
        const made = await kube.create(pods, pod('c'));
        const ref = { namespace: 'default', name: 'c', uid: made.metadata.uid as string };
        await kube.bind(ref, 'n1');
        await kube.bind(ref, 'n2');
      },
    ],
  ])('%s is answered %s', async (_what, code, act) => {
    const { kube } = setup();
    await kube.create(pods, pod('a'));
    await expect(act(kube)).rejects.toMatchObject({ name: 'KubeError', code });
  });

  test('a watch tells what is there, then synced, then changes; leaving a selector is going', async () => {
    const { kube } = setup();
    await kube.create(pods, pod('a'));
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of kube.watch<string>(
        {
          resource: pods,
          fieldSelector: 'spec.nodeName=',
          project: (object) => object.metadata.name,
        },
        stop.signal,
      ) as AsyncIterable<WatchEvent<string>>) {
        seen.push(
          event.kind === 'set'
            ? `set ${event.value}`
            : event.kind === 'gone'
              ? `gone ${event.name}`
              : 'synced',
        );
        if (event.kind === 'gone') stop.abort();
      }
    })();
    await new Promise(setImmediate);
    const made = await kube.create(pods, pod('b'));
    await kube.bind({ namespace: 'default', name: 'b', uid: made.metadata.uid as string }, 'n1');
    await watching;
    expect(seen).toEqual(['set a', 'synced', 'set b', 'gone b']);
  });

  test('a finalizer holds a deleted object until it is taken off', async () => {
    const { kube } = setup();
    await kube.create(nodes, { metadata: { name: 'n1', finalizers: ['dovetail.sh/termination'] } });
    await kube.delete({ resource: nodes, name: 'n1' });
    expect((await kube.get({ resource: nodes, name: 'n1' }))?.metadata.deletionTimestamp).toBe(
      '2026-01-01T00:00:00Z',
    );
    await kube.patch(
      { resource: nodes, name: 'n1' },
      { type: 'merge', body: { metadata: { finalizers: null } } },
    );
    expect(await kube.get({ resource: nodes, name: 'n1' })).toBeUndefined();
  });

  test('a bound pod ends gracefully, an unbound one at once', async () => {
    const { kube } = setup();
    const made = await kube.create(pods, pod('a'));
    await kube.bind({ namespace: 'default', name: 'a', uid: made.metadata.uid as string }, 'n1');
    await kube.create(pods, pod('b'));
    await kube.delete({ resource: pods, namespace: 'default', name: 'a' });
    await kube.delete({ resource: pods, namespace: 'default', name: 'b' });
    expect(
      (await kube.list(pods)).map((one) => [one.metadata.name, one.metadata.deletionTimestamp]),
    ).toEqual([['a', '2026-01-01T00:00:30Z']]);
  });

  test('the same seed and calls give the same uids', async () => {
    const uid = async () => (await setup().kube.create(pods, pod('a'))).metadata.uid;
    expect(await uid()).toBe(await uid());
  });
});
