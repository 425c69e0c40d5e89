import { limits } from '@dovetail/contracts';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { virtualClock } from '@dovetail/sim-clock';
import { expect, test } from 'vitest';

import { StreamRoom } from './stream-room.js';

/** The shares of both streams at each look, and what was told of them. */
async function told(looks: readonly { readonly state: number; readonly catalog: number }[]) {
  const clock = virtualClock(0);
  let [look] = looks;
  const warnings: string[] = [];
  const ratios = new Map<string, number>();
  const bytesOf = (stream: string): Promise<number> =>
    look === undefined
      ? Promise.reject(new Error('no answer'))
      : Promise.resolve(
          stream.includes('CATALOG')
            ? look.catalog * limits.catalogBytesMax
            : look.state * limits.stateBytesMax,
        );
  const quiet = () => undefined;
  const room = new StreamRoom({
    channel: {
      bus: Object.assign(memoryBus(new MemoryBusServer(clock)), { bytesOf }),
      ...{ cluster: 'lab', source: 'pod-watcher', clock, hash: { sha256Hex: (text) => text } },
    },
    log: {
      ...{ debug: quiet, info: quiet, error: quiet },
      warn: (name, message) => void warnings.push(`${name}: ${message}`),
    },
    metrics: {
      ...{ count: quiet, observe: quiet, remove: quiet },
      set: (name, value, labels) => void ratios.set(`${name} ${labels?.['stream']}`, value),
    },
  });
  for (look of looks) await room.measure();
  return { warnings, ratios };
}

test('the share of each stream is a metric', async () => {
  const { ratios } = await told([{ state: 0.25, catalog: 0.5 }]);
  expect(Object.fromEntries(ratios)).toEqual({
    'dovetail_stream_fill_ratio state': 0.25,
    'dovetail_stream_fill_ratio catalog': 0.5,
  });
});

test.each([
  ['below 70 %', [0.69], 0],
  ['from 70 % on', [0.7], 1],
  ['once while it stays so', [0.7, 0.8, 1], 1],
  ['again after it had room', [0.8, 0.5, 0.8], 2],
])('a stream is reported %s', async (_when, shares, times) => {
  const { warnings } = await told(shares.map((state) => ({ state, catalog: 0 })));
  expect(warnings).toHaveLength(times);
  for (const warning of warnings) expect(warning).toMatch(/^stream-filling: the state stream is /);
});
