import { KubeError, type KubeObject, kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { outside } from '../testing/outside.js';
import { type Change, changeGuarded, changeLive } from './change-guarded.js';

const resource = kubeResources.namespaces;
const label = (key: string): Change => ({ metadata: { labels: { [key]: 'yes' } } });
const hasLabel = (object: KubeObject | undefined, key: string): boolean =>
  object?.metadata.labels?.[key] === 'yes';

async function stage() {
  const { kube } = outside();
  const made = await kube.create(resource, { metadata: { name: 'n' } });
  const ref = { resource, name: 'n', uid: made.metadata.uid as string };
  /** Another writer, which is always faster than we are. */
  let races = 0;
  const race = async (times: number): Promise<void> => {
    if (races >= times) return;
    races += 1;
    await kube.patch(ref, { type: 'merge', body: label(`other-${String(races)}`) });
  };
  const racing = (times: number) => ({
    get: async (...args: Parameters<typeof kube.get>) => {
      const object = await kube.get(...args);
      await race(times);
      return object;
    },
    patch: (...args: Parameters<typeof kube.patch>) => kube.patch(...args),
  });
  return { kube, ref, made, racing };
}

describe('a guarded change', () => {
  test('changes an object and answers it as it is then', async () => {
    const { kube, ref } = await stage();
    const changed = await changeLive(kube, ref, () => label('a'));
    expect([hasLabel(changed, 'a'), hasLabel(await kube.get(ref), 'a')]).toEqual([true, true]);
  });

  test('writes nothing when the object is as it should be', async () => {
    const { kube, ref, made } = await stage();
    const changed = await changeLive(kube, ref, () => undefined);
    expect(changed?.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
  });

  test('decides afresh after another writer, and keeps what that one wrote', async () => {
    const { ref, racing } = await stage();
    const seen: boolean[] = [];
    const changed = await changeLive(racing(2), ref, (now) => {
      seen.push(hasLabel(now, 'other-1'));
      return label('a');
    });
    expect(seen).toEqual([false, true, true]);
    expect([hasLabel(changed, 'a'), hasLabel(changed, 'other-2')]).toEqual([true, true]);
  });

  test('gives up with the conflict after six lost races', async () => {
    const { ref, racing } = await stage();
    let tries = 0;
    const change = changeLive(racing(100), ref, () => {
      tries += 1;
      return label('a');
    });
    await expect(change).rejects.toMatchObject({ name: 'KubeError', code: 'conflict' });
    expect(tries).toBe(6);
  });

  test('answers nothing when the object is gone, or another has taken its name', async () => {
    const { kube, ref } = await stage();
    const change = (uid: string, name = 'n') =>
      changeLive(kube, { ...ref, name, uid }, () => label('a'));
    expect([await change('another'), await change(ref.uid, 'none')]).toEqual([
      undefined,
      undefined,
    ]);
    expect(hasLabel(await kube.get(ref), 'a')).toBe(false);
  });

  test('answers nothing when the object goes between reading and writing', async () => {
    const { ref, kube } = await stage();
    const patch = () => Promise.reject(new KubeError('not-found', 'gone'));
    const changed = changeLive({ get: (at) => kube.get(at), patch }, ref, () => label('a'));
    expect(await changed).toBeUndefined();
  });

  test('rejects with any other failure at once', async () => {
    const { ref, kube } = await stage();
    let calls = 0;
    const patch = () => {
      calls += 1;
      return Promise.reject(new KubeError('denied', 'no'));
    };
    const change = changeLive({ get: (at) => kube.get(at), patch }, ref, () => label('a'));
    await expect(change).rejects.toMatchObject({ code: 'denied' });
    expect(calls).toBe(1);
  });

  test('begins with the reading that it is given, and reads live only after a conflict', async () => {
    const { kube, ref, made } = await stage();
    await kube.patch(ref, { type: 'merge', body: label('newer') });
    const seen: (string | undefined)[] = [];
    await changeGuarded({
      kube,
      ref,
      read: (object) => object.metadata.resourceVersion,
      first: { value: 'mirrored', resourceVersion: made.metadata.resourceVersion as string },
      change: (now) => {
        seen.push(now);
        return label('a');
      },
    });
    expect(seen).toEqual(['mirrored', expect.not.stringMatching('mirrored')]);
    const now = await kube.get(ref);
    expect([hasLabel(now, 'newer'), hasLabel(now, 'a')]).toEqual([true, true]);
  });
});
