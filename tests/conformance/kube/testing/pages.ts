import { beforeAll, describe, expect, test } from 'vitest';

import { describeWithKubectl } from './kubectl.js';
import { extra } from './objects.js';
import { type Context, eventually } from './suite.js';

// The adapter asks for pages of 500: two full ones, and a third with one object.
const count = 1_001;
const atOnce = 50;
const names = Array.from({ length: count }, (_, index) => `c${String(index).padStart(4, '0')}`);

type Page = {
  readonly metadata: { readonly continue?: string; readonly remainingItemCount?: number };
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
};

function adapterTests({ world }: Context, own: () => string): void {
  test('a list through the adapter has each of 1,001 objects once, in order', async () => {
    const list = await world().kube.list(extra.configMaps, {
      namespace: own(),
      labelSelector: 'paged=yes',
    });
    expect(list.map((one) => one.metadata.name)).toEqual(names);
  });

  test('a watch tells each of 1,001 objects before it is synced, and then changes', async () => {
    const { kube } = world();
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of kube.watch(
        {
          resource: extra.configMaps,
          labelSelector: 'paged=yes',
          project: (object) => object.metadata.name,
        },
        stop.signal,
      )) {
        seen.push(event.kind === 'set' ? event.value : event.kind);
        if (seen.at(-1) === 'late') stop.abort();
      }
    })();
    await eventually(
      () => Promise.resolve(seen),
      () => seen.includes('synced'),
    );
    await kube.create(extra.configMaps, {
      metadata: { name: 'late', namespace: own(), labels: { paged: 'yes' } },
    });
    await watching;
    await kube.delete({ resource: extra.configMaps, namespace: own(), name: 'late' });
    expect(seen).toEqual([...names, 'synced', 'late']);
  });
}

function pageTests({ world }: Context, own: () => string): void {
  const page = async (query: string): Promise<Page> =>
    JSON.parse(
      (
        await world().kubectl([
          'get',
          '--raw',
          `/api/v1/namespaces/${own()}/configmaps?limit=500${query}`,
        ])
      ).out,
    ) as Page;

  test('a page says how many are left and where to go on; the last one says neither', async () => {
    // Every namespace may hold a ConfigMap of the cluster's own, so only the pages of a selector
    // are exact.
    const first = await page('&labelSelector=paged%3Dyes');
    expect(first.items.map((one) => one.metadata.name)).toEqual(names.slice(0, 500));
    expect(first.metadata.continue).toEqual(expect.any(String));
    expect(first.metadata.remainingItemCount).toBeUndefined();
    const second = await page(
      `&labelSelector=paged%3Dyes&continue=${encodeURIComponent(first.metadata.continue ?? '')}`,
    );
    const third = await page(
      `&labelSelector=paged%3Dyes&continue=${encodeURIComponent(second.metadata.continue ?? '')}`,
    );
    expect(third.items.map((one) => one.metadata.name)).toEqual(names.slice(1_000));
    expect(third.metadata.continue ?? '').toBe('');
    const { metadata, items } = await page('');
    expect([501, 502]).toContain(metadata.remainingItemCount);
    expect(items).toHaveLength(500);
  });

  test('a page that ends with its namespace is the last one', async () => {
    const all = JSON.parse(
      (await world().kubectl(['get', '--raw', `/api/v1/namespaces/${own()}/configmaps`])).out,
    ) as Page;
    const whole = JSON.parse(
      (
        await world().kubectl([
          'get',
          '--raw',
          `/api/v1/namespaces/${own()}/configmaps?limit=${all.items.length}`,
        ])
      ).out,
    ) as Page;
    expect(whole.metadata.continue ?? '').toBe('');
  });

  test('kubectl get prints all of them, whatever the size of its chunks', async () => {
    const { out } = await world().kubectl([
      '-n',
      own(),
      'get',
      'configmaps',
      '-l',
      'paged=yes',
      '--chunk-size=300',
      '--no-headers',
      '-o',
      'name',
    ]);
    expect(out.trim().split('\n')).toEqual(names.map((name) => `configmap/${name}`));
  });
}

/** Lists that span several pages. */
export function pages(context: Context): void {
  describe('a list of 1,001 objects', () => {
    let own = '';
    beforeAll(async () => {
      own = await context.namespace();
      const { kube } = context.world();
      for (let at = 0; at < count; at += atOnce) {
        await Promise.all(
          names
            .slice(at, at + atOnce)
            .map((name) =>
              kube.create(extra.configMaps, {
                metadata: { name, namespace: own, labels: { paged: 'yes' } },
              }),
            ),
        );
      }
    });
    adapterTests(context, () => own);
    describeWithKubectl('in pages', () => pageTests(context, () => own));
  });
}
