import { annotations } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { isEnding, renderRetirement } from '@dovetail/core-disruption';
import { nodeValue } from '@dovetail/core-kube-model/testing';
import { virtualClock } from '@dovetail/sim-clock';
import { describe, expect, test } from 'vitest';

import { ReaperCluster } from '../cluster/reaper-cluster.js';
import { PendingRetirements } from './pending-retirements.js';

const providerId = 'aws:///us-west-2a/i-0123456789abcdef0';
const claim = claimValue('c1', { providerId });

function stage() {
  const clock = virtualClock(0);
  const cluster = new ReaperCluster(() => clock.nowMs(), 'replace');
  const show = (held: Readonly<Record<string, string>> = {}): void =>
    cluster.set('node', nodeValue('n1', { providerId, annotations: held }));
  cluster.set('claim', claim);
  show();
  const pending = new PendingRetirements(cluster, clock);
  const counts = (): boolean => pending.views().some((view) => isEnding(view));
  const begin = (work: () => void = () => undefined): Promise<void> =>
    pending.holding([{ claim, cause: 'empty' }], () => Promise.resolve(work()));
  return { pending, clock, show, counts, begin, cluster };
}

describe('a node whose retirement has begun', () => {
  test('counts as retiring while it is written, and no more if that fails', async () => {
    const { counts, begin } = stage();
    const seen: boolean[] = [counts()];
    await begin(() => seen.push(counts()));
    expect([...seen, counts()]).toEqual([false, true, false]);
  });

  test('counts once it is written until the watch shows it, and then as the watch says', async () => {
    const { pending, counts, begin, show } = stage();
    await begin(() => pending.written(claim));
    expect(counts()).toBe(true);
    show({ [annotations.retirement]: renderRetirement({ cause: 'empty', atMs: 1 }) });
    expect(counts()).toBe(true);
    show();
    expect(counts()).toBe(false);
  });

  test('counts no more after a minute, if no watch shows it', async () => {
    const { pending, counts, begin, clock } = stage();
    await begin(() => pending.written(claim));
    await clock.advance(59_000);
    expect(counts()).toBe(true);
    await clock.advance(1_000);
    expect(counts()).toBe(false);
  });

  test('counts no more once it is given up', async () => {
    const { pending, counts, begin } = stage();
    await begin(() => pending.written(claim));
    pending.release(claim);
    expect(counts()).toBe(false);
  });
});
