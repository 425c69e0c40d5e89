import { decodePlanRecord, encodePlanRecord, streamSpecs, subjects } from '@dovetail/contracts';
import type { Clock } from '@dovetail/core-ports';
import { memoryBus, MemoryBusServer, serveBus, type ServedBus } from '@dovetail/sim-bus';
import { afterEach, describe, expect, test } from 'vitest';

import { runReplay } from './run.js';
import { type Released, releasedRecords } from './testing/released.js';

const clock: Clock = { nowMs: () => 1_700_000_000_000, sleep: () => Promise.resolve() };
const cluster = 'lab';

let served: ServedBus | undefined;
afterEach(() => served?.close());

type Messages = readonly { readonly subject: string; readonly payload: Uint8Array }[];
const messagesOf = ({ messages }: Released): Messages =>
  messages.map(({ subject, base64 }) => ({ subject, payload: Buffer.from(base64, 'base64') }));

/** Runs `dovetail replay` on a bus that holds these messages and nothing else. */
async function replayed(planId: string, messages: Messages) {
  const server = new MemoryBusServer(clock);
  const bus = memoryBus(server);
  await bus.ensureStreams(streamSpecs(cluster));
  for (const message of messages) await bus.publish(message);
  served = await serveBus(server);
  let [out, err] = ['', ''];
  const streams = {
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    progress: () => undefined,
  };
  const secrets = { natsCredentials: '', natsCa: '', natsCert: '', natsKey: '' };
  const code = await runReplay(
    {
      name: planId,
      bus: { cluster, nats: served.url, secrets },
      output: 'json',
      layout: {},
      written: [],
      paths: [],
      prices: [],
    },
    streams,
  );
  return { code, out, err };
}

/** The record with a change to its text, and its parts. */
function changedRecord(
  release: Released,
  change: (record: { readonly id: string; readonly input: string }) => object,
): Messages {
  const at = subjects.planRecord(cluster, release.planId);
  return messagesOf(release).map(({ subject, payload }) => {
    if (subject !== at) return { subject, payload };
    const record = decodePlanRecord(payload);
    if (!record.ok) throw new Error(`${record.field}: ${record.reason}`);
    const other = { ...record.value, ...change(record.value) };
    return { subject: subjects.planRecord(cluster, other.id), payload: encodePlanRecord(other) };
  });
}

describe.each(releasedRecords())('a record that release %s has written', (_name, release) => {
  // A change of planning that makes another plan of it is a choice: then this says `same: false`
  // and code 2 of the old file, and a new file is written for the release that brings it.
  test('is read, and its plan is the same to the byte', async () => {
    const { code, out, err } = await replayed(release.planId, messagesOf(release));
    expect([code, err]).toEqual([0, '']);
    const { nodes, priceMicrosPerHour, unplaced } = release.made;
    const figures = { nodes: nodes.length, priceMicrosPerHour, unplacedPods: unplaced.length };
    expect(JSON.parse(out)).toMatchObject({
      planId: release.planId,
      same: true,
      recorded: figures,
      now: figures,
    });
  });

  test('is said to be planned otherwise, if another plan comes of it', async () => {
    const id = 'f'.repeat(32);
    const { code, out } = await replayed(
      id,
      changedRecord(release, () => ({ id })),
    );
    expect([code, JSON.parse(out)]).toMatchObject([2, { planId: id, same: false }]);
  });

  test('is refused by name, if a later release writes it in another form', async () => {
    const later = ({ input }: { readonly input: string }) => ({
      input: JSON.stringify({ ...(JSON.parse(input) as object), form: 2 }),
    });
    expect(await replayed(release.planId, changedRecord(release, later))).toMatchObject({
      code: 66,
      err: expect.stringContaining('another release has written it in its own form'),
    });
  });

  test('is refused, if one of its parts is not kept any more', async () => {
    const [, ...others] = messagesOf(release);
    expect(await replayed(release.planId, others)).toMatchObject({
      code: 66,
      err: expect.stringMatching(/1 of its \d+ parts are not kept any more/),
    });
  });
});
