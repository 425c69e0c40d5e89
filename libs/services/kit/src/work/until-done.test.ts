import { Stopper } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { describe, expect, test } from 'vitest';

import { recordingLog } from '../testing/outside.js';
import { untilDone } from './until-done.js';

describe('a start that waits', () => {
  test('tries each second until it succeeds, and names what it waits for', async () => {
    const clock = virtualClock(0);
    const { log, lines } = recordingLog();
    let tries = 0;
    const act = (): Promise<string> =>
      (tries += 1) < 3 ? Promise.reject(new Error('no route')) : Promise.resolve('1.34');
    const answer = untilDone({ clock, log }, 'the version', act, new Stopper());
    await clock.advance(2_000);
    expect([await answer, clock.nowMs(), tries]).toEqual(['1.34', 2_000, 3]);
    expect(lines.map(({ name, fields }) => [name, fields['what']])).toEqual([
      ['start-waits', 'the version'],
      ['start-waits', 'the version'],
    ]);
  });

  test('answers nothing when it is stopped first', async () => {
    const clock = virtualClock(0);
    const stop = new Stopper();
    const { log } = recordingLog();
    const answer = untilDone({ clock, log }, 'x', () => Promise.reject(new Error('no')), stop);
    await clock.advance(10);
    stop.abort();
    expect(await answer).toBeUndefined();
  });
});
