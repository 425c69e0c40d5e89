import { type KubeApi } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  deadlineOf,
  gone,
  isDeleting,
  reap,
  retirementOn,
  started,
  tainted,
} from './testing/current-cluster.js';
import { endNotice, noise, spot, spotNotice } from './testing/notices.js';

describe('the notices of an interruption', () => {
  test.each([
    [
      'of another account',
      (body: string) => body.replaceAll(/"account":"[0-9]+"/g, '"account":"999999999999"'),
    ],
    [
      'of another region',
      (body: string) => body.replaceAll('"region":"us-west-2"', '"region":"eu-west-1"'),
    ],
    [
      'of an unknown kind',
      (body: string) => body.replaceAll('Interruption Warning', 'Something New'),
    ],
    ['that is no event at all', () => 'hello'],
    [
      'about an instance that nobody knows',
      (body: string) => body.replaceAll(/i-[0-9a-f]{17}/g, 'i-0123456789abcdef0'),
    ],
  ])('a message %s is dropped and ends nothing', async (_what, change) => {
    const { instanceId } = await spot();
    reap();
    await cluster.pass(2);
    cluster.twin.queue.send(change(spotNotice(instanceId)));
    await cluster.pass(30);
    expect([tainted('n1'), cluster.twin.queue.depth()]).toMatchObject([
      false,
      { visible: 0, hidden: 0 },
    ]);
  });

  test('the end of a young instance that no claim has is dropped', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    const instanceId = await cluster.strayInstance();
    reap();
    await cluster.pass(2);
    cluster.twin.queue.send(endNotice(instanceId));
    await cluster.pass(2);
    expect(cluster.twin.queue.depth()).toMatchObject({ visible: 0, hidden: 0 });
  });

  test('a notice of two instances stays in the queue until both are known', async () => {
    const { instanceId } = await spot();
    const young = await cluster.strayInstance();
    reap();
    await cluster.pass(2);
    cluster.twin.notify({ kind: 'scheduled-change', instanceIds: [instanceId, young] });
    await cluster.pass(3);
    expect([tainted('n1'), cluster.twin.queue.depth()]).toMatchObject([
      true,
      { visible: 0, hidden: 1 },
    ]);
  });

  test('the end of an instance that was launched a moment ago ends its claim', async () => {
    await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
    reap();
    await cluster.pass(2);
    const { instanceId } = await cluster.node('n1', {});
    cluster.twin.queue.send(endNotice(instanceId));
    expect(await cluster.pass(60, gone('claim-n1'))).toBe(true);
  });

  test.each([
    ['and that EC2 does not show yet either', 0],
    ['but EC2 does show', 10],
  ])(
    'the end of an instance whose claim the watch does not show yet, %s, waits for the watch',
    async (_sentence, seconds) => {
      await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
      let show = (): void => undefined;
      const shown = new Promise<void>((resolve) => {
        show = resolve;
      });
      async function* late<T extends { readonly kind: string }>(
        events: AsyncIterable<T>,
      ): AsyncGenerator<T> {
        for await (const event of events) {
          if (event.kind !== 'synced') await shown;
          yield event;
        }
      }
      const watch: KubeApi['watch'] = (watched, stop) =>
        watched.resource.plural === 'nodeclaims'
          ? late(cluster.kube.watch(watched, stop))
          : cluster.kube.watch(watched, stop);
      reap({ kube: { ...cluster.kube, watch } });
      await cluster.pass(2);
      const { instanceId } = await cluster.node('n1', {});
      await cluster.pass(seconds);
      cluster.twin.queue.send(endNotice(instanceId));
      await cluster.pass(2);
      expect([isDeleting('claim-n1'), cluster.twin.queue.depth()]).toMatchObject([
        false,
        { visible: 0, hidden: 1 },
      ]);
      show();
      expect(await cluster.pass(120, gone('claim-n1'))).toBe(true);
      expect(cluster.twin.queue.depth()).toMatchObject({ visible: 0, hidden: 0 });
    },
  );

  test.each([1, 2, 3, 4, 5])(
    'is obeyed at once by its earliest deadline among others that come twice, late and broken (order %i)',
    async (seed) => {
      const { instanceId } = await spot();
      reap();
      await cluster.pass(2);
      const sentMs = cluster.clock.nowMs();
      const at = (aheadMs: number): string =>
        JSON.stringify({
          ...(JSON.parse(spotNotice(instanceId)) as object),
          time: new Date(sentMs + aheadMs).toISOString(),
        });
      const notices = [at(0), at(-30_000), at(-30_000), at(20_000), at(400_000_000)];
      const far = JSON.stringify({
        ...(JSON.parse(spotNotice(instanceId)) as object),
        time: '+275760-09-13T00:00:00Z',
      });
      const bodies = [...notices, far, ...noise()].map((body, index) => ({
        body,
        rank: Math.sin(seed * 97 + index * 13),
      }));
      for (const { body } of bodies.sort((a, b) => a.rank - b.rank)) cluster.twin.queue.send(body);
      await cluster.pass(2);
      expect(tainted('n1')).toBe(true);
      expect(retirementOn('n1')?.deadlineMs).toBe(sentMs - 30_000 + 110_000);
      await cluster.pass(80, () => isDeleting('claim-n1'));
      expect(deadlineOf('claim-n1')).toBeLessThanOrEqual(sentMs + 80_000);
      await cluster.pass(120);
      expect(cluster.twin.queue.depth()).toMatchObject({ visible: 0, hidden: 0 });
    },
  );
});
