import { kubeResources, LeadershipLost, Stopper } from '@dovetail/core-ports';
import { describe, expect, test } from '@jest/globals';

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
    },
  );
  const writes: Readonly<Record<string, () => Promise<unknown>>> = {
    create: () => kube.create(kubeResources.nodes, object),
    patch: () => kube.patch(ref, { metadata: {} } as never),
    delete: () => kube.delete(ref),
  };
  return { stop, arrived, writes };
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
