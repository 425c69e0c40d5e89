import type { InterruptionQueue } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { cluster, reap, tainted } from './testing/current-cluster.js';
import { endNotice, spot, spotNotice } from './testing/notices.js';

/** The queue of the stage, and what was asked of it. */
function watchedQueue() {
  const asked = { receiving: 0, receivingMost: 0, deletions: 0, deleted: 0 };
  const queue: InterruptionQueue = {
    async receive(stop) {
      asked.receiving += 1;
      asked.receivingMost = Math.max(asked.receivingMost, asked.receiving);
      try {
        return await cluster.cloud.receive(stop);
      } finally {
        asked.receiving -= 1;
      }
    },
    async delete(receipts) {
      asked.deletions += 1;
      asked.deleted += receipts.length;
      return cluster.cloud.delete(receipts);
    },
  };
  return { asked, queue };
}

const strangers = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) =>
    endNotice(`i-${(0xabc0000 + index).toString(16).padStart(17, '0')}`),
  );

describe('a flood of messages about others', () => {
  test('calls more receivers, which leave when it is over', async () => {
    await spot();
    const { asked, queue } = watchedQueue();
    reap({ queue });
    await cluster.pass(2);
    expect(asked.receiving).toBe(4);
    asked.deleted = 0;
    for (const text of strangers(2_000)) cluster.twin.queue.send(text);
    await cluster.pass(30);
    expect(cluster.twin.queue.depth()).toMatchObject({ visible: 0, hidden: 0 });
    expect(asked.receivingMost).toBeGreaterThan(4);
    expect(asked.receivingMost).toBeLessThanOrEqual(32);
    expect([asked.receiving, asked.deleted]).toEqual([4, 2_000]);
  });

  test('is deleted in batches', async () => {
    await spot();
    const { asked, queue } = watchedQueue();
    reap({ queue });
    await cluster.pass(2);
    Object.assign(asked, { deletions: 0, deleted: 0 });
    for (const text of strangers(500)) cluster.twin.queue.send(text);
    await cluster.pass(30);
    expect(asked.deleted).toBe(500);
    expect(asked.deletions).toBeLessThanOrEqual(50);
  });

  test('does not hold up the notice among it', async () => {
    const { instanceId } = await spot();
    reap({ queue: watchedQueue().queue });
    await cluster.pass(2);
    for (const text of [...strangers(1_000), spotNotice(instanceId), ...strangers(1_000)])
      cluster.twin.queue.send(text);
    expect(await cluster.pass(5, () => tainted('n1'))).toBe(true);
  });

  test('leaves a message that the queue did not delete for the next receive', async () => {
    await spot();
    const { asked, queue } = watchedQueue();
    const refused: string[] = [];
    let refuses = false;
    reap({
      queue: {
        ...queue,
        async delete(receipts) {
          if (!refuses) return queue.delete(receipts);
          refuses = false;
          refused.push(...receipts);
          return receipts;
        },
      },
    });
    await cluster.pass(2);
    asked.deleted = 0;
    refuses = true;
    for (const text of strangers(10)) cluster.twin.queue.send(text);
    await cluster.pass(60);
    expect([refused.length > 0, asked.deleted]).toEqual([true, 10]);
    expect(cluster.twin.queue.depth()).toMatchObject({ visible: 0, hidden: 0 });
  });
});
