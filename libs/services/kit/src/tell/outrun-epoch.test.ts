import { KubeError, LeadershipLost, Stopper } from '@dovetail/core-ports';
import { virtualClock } from '@dovetail/sim-clock';
import { expect, test } from 'vitest';

import { outrunEpoch } from './outrun-epoch.js';

const quiet = (): void => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };

/** An epoch whose Lease answers as the list says, and then takes the write. */
function stage(...failures: readonly Error[]) {
  const left = [...failures];
  const asked: number[] = [];
  const stop = new Stopper();
  const outrun = async (number: number): Promise<void> => {
    asked.push(number);
    const failure = left.shift();
    if (failure !== undefined) throw failure;
    stop.abort();
  };
  const clock = virtualClock(0);
  return { found: outrunEpoch({ outrun, stop }, { clock, log }), asked, clock };
}

test.each([
  ['once, however many subjects show it', [], [7]],
  [
    'again while the API server is away',
    [new KubeError('unavailable', 'away'), new KubeError('unavailable', 'away')],
    [7, 7, 7],
  ],
  ['no more once another leads', [new LeadershipLost('another leads')], [7]],
])('work of a higher epoch is put to the Lease %s', async (_how, failures, expected) => {
  const { found, asked, clock } = stage(...failures);
  found(7);
  found(8);
  await clock.advance(10_000);
  expect(asked).toEqual(expected);
});
