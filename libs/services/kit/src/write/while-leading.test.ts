import { kubeResources, LeadershipLost, Stopper } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { kubeWhileLeading } from './while-leading.js';

const ref = { resource: kubeResources.nodes, name: 'n1' };

/** A leader, the names of the writes that arrive, and each write by its name. */
function leader(held: () => boolean = () => true) {
  const stop = new Stopper();
  const arrived: string[] = [];
  const arrive =
    <R>(name: string, answer: R) =>
    (): Promise<R> => {
      arrived.push(name);
      return Promise.resolve(answer);
    };
  const object = { metadata: { name: 'n1' } };
  const kube = kubeWhileLeading(
    { leadership: { held }, stop },
    {
      create: arrive('create', object),
      patch: arrive('patch', object),
      delete: arrive('delete', undefined),
      get: arrive('get', object),
      list: arrive('list', []),
      serves: arrive('serves', true),
      serverVersion: arrive('serverVersion', { major: 1, minor: 34 }),
      watch: async function* () {
        await arrive('watch', undefined)();
        yield { kind: 'synced' } as const;
      },
    },
  );
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    get: () => kube.get(ref),
    list: () => kube.list(kubeResources.nodes),
    serves: () => kube.serves(kubeResources.nodes),
    serverVersion: () => kube.serverVersion(),
    watch: () =>
      kube
        .watch({ resource: kubeResources.nodes, project: (each) => each }, stop)
        [Symbol.asyncIterator]()
        .next(),
  };
  const writes: Readonly<Record<string, () => Promise<unknown>>> = {
    create: () => kube.create(kubeResources.nodes, object),
    patch: () => kube.patch(ref, { metadata: {} } as never),
    delete: () => kube.delete(ref),
  };
  return { stop, arrived, reads, writes };
}

describe.each(['create', 'patch', 'delete'])('the write "%s" of a leader', (name) => {
  test('arrives while its epoch lasts', async () => {
    const { arrived, writes } = leader();
    await writes[name]?.();
    expect(arrived).toEqual([name]);
  });

  test('is refused once its epoch has ended', async () => {
    const { stop, arrived, writes } = leader();
    stop.abort();
    await expect(writes[name]?.()).rejects.toBeInstanceOf(LeadershipLost);
    expect(arrived).toEqual([]);
  });

  test('is refused while its Lease is too old to count', async () => {
    const { arrived, writes } = leader(() => false);
    await expect(writes[name]?.()).rejects.toBeInstanceOf(LeadershipLost);
    expect(arrived).toEqual([]);
  });
});

test.each(['get', 'list', 'serves', 'serverVersion', 'watch'])(
  'the read "%s" of a leader goes on after its epoch',
  async (name) => {
    const { stop, arrived, reads } = leader();
    stop.abort();
    await reads[name]?.();
    expect(arrived).toEqual([name]);
  },
);
