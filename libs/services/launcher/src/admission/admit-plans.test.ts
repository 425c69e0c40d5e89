import { limits, type PlanMessage, publishPlan } from '@dovetail/contracts';
import { LeadershipLost, noVitals, Stopper } from '@dovetail/core-ports';
import { Stage } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { BusTime } from '../tell/bus-time.js';
import { planValue } from '../testing/values.js';
import { admitPlans } from './admit-plans.js';
import type { Rounds } from './rounds.js';

let stage: Stage;
afterEach(() => {
  stage.end();
});

/** Admits plans whose rounds do what the test says. */
async function admitting(
  admit: (plans: readonly PlanMessage[]) => Promise<void>,
  work?: () => AsyncGenerator<never>,
  /** How far the launcher's clock is ahead of the bus's. */
  aheadMs = 0,
) {
  stage = await new Stage().begin();
  const { clock, log, metrics } = stage;
  const busTime = new BusTime(() => clock.nowMs() + aheadMs);
  const channel = stage.channelOf('launcher');
  const { bus } = channel;
  const reader =
    work === undefined
      ? channel
      : {
          ...channel,
          bus: { work, lastMessage: bus.lastMessage.bind(bus), follow: bus.follow.bind(bus) },
        };
  const stop = new Stopper();
  const ended = admitPlans(
    {
      ...{ clock, log, metrics, vitals: noVitals },
      reader: reader as typeof channel,
      rounds: { admit } as unknown as Rounds,
      untoldPlans: { add: () => undefined },
      busTime,
      plansPerRoundMax: 8,
    },
    stop,
  );
  return { channel, stop, ended, busTime };
}

describe('plans that arrive', () => {
  test('come once, however long their round takes', async () => {
    const rounds: (readonly string[])[] = [];
    const { channel, stop, ended } = await admitting(async (plans) => {
      rounds.push(plans.map(({ id }) => id));
      await stage.clock.sleep(limits.ackWaitMs * 4, stage.stop.signal);
    });
    await publishPlan(channel, planValue('a'));
    const untilMs = stage.clock.nowMs() + limits.ackWaitMs * 8;
    await stage.until('the time', () => stage.clock.nowMs() > untilMs);
    expect(rounds).toEqual([['a']]);
    stop.abort();
    await ended;
  });

  test.each([-60_000, 0, 60_000])(
    'are as old as the bus says, whatever the clock of their solver, here %d ms off the one there',
    async (aheadMs) => {
      const ages: number[] = [];
      const { channel, busTime, stop, ended } = await admitting(
        async (plans) => {
          for (const { createdMs } of plans) ages.push(stage.clock.nowMs() + aheadMs - createdMs);
          if (ages.length === 1) await stage.clock.sleep(90_000, stage.stop.signal);
          // The launcher hears its own messages all the time.
          busTime.heard(stage.clock.nowMs());
        },
        undefined,
        aheadMs,
      );
      const bySolver = (offMs: number): number => stage.clock.nowMs() + offMs;
      await publishPlan(channel, planValue('a', { createdMs: bySolver(-3_600_000) }));
      await stage.until('the first round', () => ages.length === 1);
      await publishPlan(channel, planValue('b', { createdMs: bySolver(3_600_000) }));
      await stage.until('the second round', () => ages.length === 2, 120_000);
      expect(Math.abs(ages[0] ?? NaN)).toBeLessThan(1_000);
      expect(Math.abs((ages[1] ?? NaN) - 90_000)).toBeLessThan(1_000);
      stop.abort();
      await ended;
    },
  );

  test('fail with their loop, not beside it, when the queue breaks', async () => {
    const { ended } = await admitting(
      () => Promise.resolve(),
      async function* () {
        throw new Error('the queue broke');
      },
    );
    await expect(ended).rejects.toThrow('the queue broke');
  });

  test('are left alone once another leads', async () => {
    const { channel, ended } = await admitting(() =>
      Promise.reject(new LeadershipLost('another leads')),
    );
    await publishPlan(channel, planValue('a'));
    await expect(ended).rejects.toBeInstanceOf(LeadershipLost);
  });
});
