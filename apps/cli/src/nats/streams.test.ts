import { deadLetterSpec, streamSpecs } from '@dovetail/contracts';
import { BusError, type StreamSpec } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { makeStreams } from './streams.js';

/** Runs the maker on a bus that answers its looks in this way. */
async function made(
  answers: readonly (string | undefined)[],
  request: { readonly sinks?: boolean; readonly keep?: boolean },
) {
  const [said, asked] = [[] as string[], [] as (readonly StreamSpec[])[]];
  const stop = new AbortController();
  const bus = {
    ensureStreams: (specs: readonly StreamSpec[]): Promise<void> => {
      const fault = answers[asked.length];
      asked.push(specs);
      return fault === undefined
        ? Promise.resolve()
        : Promise.reject(new BusError('denied', fault));
    },
  };
  const clock = {
    nowMs: () => 0,
    sleep: (): Promise<void> => {
      if (asked.length === answers.length) stop.abort();
      return Promise.resolve();
    },
  };
  const output = {
    out: (text: string) => void said.push(`out ${text}`),
    err: (text: string) => void said.push(`err ${text}`),
  };
  const all = { cluster: 'lab', sinks: false, keep: false, ...request };
  return { code: await makeStreams({ bus, clock, output }, all, stop.signal), said, asked };
}

describe('the maker of streams', () => {
  const there = 'out the 7 streams of cluster lab are there\n';
  test('makes those of the services, and of the sinks if they are asked for', async () => {
    expect((await made([undefined], {})).asked).toEqual([streamSpecs('lab')]);
    expect((await made([undefined], { sinks: true })).asked).toEqual([
      [...streamSpecs('lab'), deadLetterSpec('lab')],
    ]);
  });
  test.each<[string, (string | undefined)[], boolean, number, string[]]>([
    ['says that they are there and ends', [undefined], false, 0, [there]],
    ['ends with a code when it cannot make them', ['no rights'], false, 69, ['err no rights\n']],
    [
      'stays if it is asked to, and tells a failure once and its end',
      ['away', 'away', undefined, undefined],
      true,
      0,
      ['err away\n', there],
    ],
  ])('%s', async (_what, answers, keep, code, said) =>
    expect(await made(answers, { keep })).toMatchObject({ code, said }),
  );
});
