import { type KubeApi, kubeResources, Stopper } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { createManualClock } from '../ambient/clock.js';
import { createKubeStore } from '../kube-store.js';
import { type KubeFault, KubeFaults } from './faults.js';
import { inProcessKube } from './in-process.js';

const configMaps = { ...kubeResources.pods, kind: 'ConfigMap', plural: 'configmaps' };

function client() {
  const clock = createManualClock(0);
  const kube = inProcessKube(createKubeStore({ clock, seed: 1 }));
  const faults = new KubeFaults();
  return { kube, faults, faulty: faults.over(kube) };
}

const map = (name: string) => ({ metadata: { name, namespace: 'default' } });
const ref = (name: string) => ({ resource: configMaps, name, namespace: 'default' });
const body = { metadata: { labels: { a: 'b' } } };

/** The code of the error that the call ends with; undefined if it succeeds. */
const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => (error as { readonly code: unknown }).code,
  );

describe('a client of an API server with faults', () => {
  test.each<[string, KubeFault, string, boolean]>([
    ['throttled', { kind: 'throttle', times: 1 }, 'too-many-requests', false],
    ['refused by a 5xx', { kind: 'unavailable', when: 'before', times: 1 }, 'unavailable', false],
    ['not answered', { kind: 'unavailable', when: 'after', times: 1 }, 'unavailable', true],
  ])('whose call is %s has its effect or not', async (_what, fault, code, isMade) => {
    const { kube, faults, faulty } = client();
    faults.order(fault);
    expect(await codeOf(faulty.create(configMaps, map('a')))).toBe(code);
    expect((await kube.get(ref('a'))) !== undefined).toBe(isMade);
    expect(await codeOf(faulty.create(configMaps, map('b')))).toBeUndefined();
    expect(faults.pending()).toBe(false);
  });

  test('conflicts only where a write is guarded', async () => {
    const { faults, faulty } = client();
    const made = await faulty.create(configMaps, map('a'));
    faults.order({ kind: 'conflict', times: 1 });
    expect(await codeOf(faulty.patch(ref('a'), { type: 'merge', body }))).toBeUndefined();
    expect(await codeOf(faulty.replace(configMaps, made))).toBe('conflict');
  });
});

/** The changes that a watch has told so far, as `set a` and `gone a`. */
function watching(kube: KubeApi, stop: Stopper): string[] {
  const told: string[] = [];
  const options = {
    resource: configMaps,
    project: ({ metadata }: { readonly metadata: { readonly name: string } }) => metadata.name,
  };
  void (async () => {
    for await (const event of kube.watch(options, stop))
      if (event.kind === 'set') told.push(`set ${event.value}`);
      else told.push(event.kind === 'gone' ? `gone ${event.name}` : event.kind);
  })();
  return told;
}

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1)
    await new Promise<void>((resolve) => void setImmediate(resolve));
};

describe('a watch that stalls', () => {
  test.each([
    ['go on', ['set a', 'synced', 'set b', 'gone a']],
    // The list holds b; that a has gone shows only by its absence.
    ['break', ['set a', 'synced', 'set b', 'gone a', 'synced']],
  ])('tells what it held back once it may %s', async (end, expected) => {
    const { kube, faults, faulty } = client();
    const stop = new Stopper();
    await kube.create(configMaps, map('a'));
    const told = watching(faulty, stop);
    await settled();
    faults.watches.stall();
    await kube.create(configMaps, map('b'));
    await kube.delete(ref('a'));
    await settled();
    expect(told).toEqual(['set a', 'synced']);
    if (end === 'break') faults.watches.break();
    else faults.watches.resume();
    await settled();
    expect(told).toEqual(expected);
    stop.abort();
  });

  test('of which one in three is spoilt fails in turn, until the faults are cleared', async () => {
    const { faults, faulty } = client();
    faults.every(3);
    const codes: unknown[] = [];
    for (let call = 0; call < 12; call += 1) codes.push(await codeOf(faulty.list(configMaps)));
    expect(codes.filter((code) => code !== undefined)).toEqual([
      'unavailable',
      'unavailable',
      'too-many-requests',
    ]);
    expect(faults.pending()).toBe(false);
    faults.clear();
    expect(await codeOf(faulty.list(configMaps))).toBeUndefined();
  });
});
