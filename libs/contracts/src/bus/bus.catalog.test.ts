import { createHash } from 'node:crypto';

import { nodeClassValue } from '@dovetail/core-api/testing';
import {
  catalogFor,
  type InstanceType,
  instanceTypesFor,
  priceBookOf,
} from '@dovetail/core-ec2-model';
import { type Bus, type OutgoingMessage, Stopper } from '@dovetail/core-ports';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { virtualClock } from '@dovetail/sim-clock';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { encodeClassCatalog } from '../codec/index.js';
import {
  type Channel,
  dropCatalogParts,
  followCatalog,
  limits,
  publishClassCatalog,
  publishUnavailable,
  streamSpecs,
} from '../index.js';
import { sampleCatalog, sampleUnavailable } from '../testing/samples.js';

const cluster = 'lab';

const hash = {
  sha256Hex: (text: string): string => createHash('sha256').update(text).digest('hex'),
};

let clock = virtualClock(0);

let server = new MemoryBusServer(clock);

let channel: Channel & { readonly bus: Bus };

let stop = new Stopper();

beforeEach(async () => {
  clock = virtualClock(1_700_000_000_000);
  server = new MemoryBusServer(clock);
  stop = new Stopper();
  channel = { bus: memoryBus(server), cluster, source: 'test', clock, hash };
  await channel.bus.ensureStreams(streamSpecs(cluster));
});

afterEach(() => stop.abort());

/** The first events of a follower, up to `caught-up`. */
async function heard<T extends { readonly kind: string }>(
  events: AsyncIterable<T>,
): Promise<readonly T[]> {
  const seen: T[] = [];
  for await (const event of events) {
    if (event.kind === 'caught-up') break;
    seen.push(event);
  }
  return seen;
}

describe('the catalog', () => {
  test('a large class comes in parts of one revision', async () => {
    const [type] = sampleCatalog.instanceTypes;
    const instanceTypes = Array.from({ length: 6_000 }, (_, index) => ({
      ...type!,
      name: `t${String(index)}`,
    }));
    await publishClassCatalog(
      channel,
      { classUid: 'c', revision: 'r9', instanceTypes },
      { generation: '1' },
    );
    await publishUnavailable(
      channel,
      { ...sampleUnavailable, untilMs: clock.nowMs() + 1_000 },
      { generation: '1' },
    );
    const seen = await heard(followCatalog(channel, stop));
    const parts = seen.flatMap((event) => (event.kind === 'class' ? [event.part] : []));
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts)
      expect(encodeClassCatalog(part).length).toBeLessThanOrEqual(limits.catalogPartBytesMax);
    expect(parts.every((part) => part.parts === parts.length && part.revision === 'r9')).toBe(true);
    expect(
      parts
        .toSorted((a, b) => a.part - b.part)
        .flatMap((part) => part.instanceTypes.map((each) => each.name)),
    ).toEqual(instanceTypes.map((each) => each.name));
    expect(seen.at(-1)).toMatchObject({
      kind: 'unavailable',
      offering: { instanceType: 'm5.large' },
    });
  });
});

describe('an offering is avoided', () => {
  test.each([
    ['for the time that was published', 180_000, 180_000],
    ['for no longer than the limit, whoever asks for more', 1e12, limits.avoidedMsMax],
  ])('%s', async (_sentence, askedMs, expectedMs) => {
    const until = (ms: number) => ({ ...sampleUnavailable, untilMs: clock.nowMs() + ms });
    await publishUnavailable(channel, until(askedMs), { generation: 'g' });
    expect(await heard(followCatalog(channel, stop))).toEqual([
      expect.objectContaining({ offering: until(expectedMs) }),
    ]);
  });
});

test('other work gets its turn while a large class is cut into parts', async () => {
  const [type] = sampleCatalog.instanceTypes;
  let nowMs = 0;
  let turns = 0;
  // A clock on which encoding a part takes longer than a turn.
  const slow = {
    nowMs: () => (nowMs += 60),
    sleep: () => {
      turns += 1;
      return Promise.resolve();
    },
  };
  await publishClassCatalog(
    { ...channel, clock: slow },
    { classUid: 'c', revision: 'r1', instanceTypes: Array.from({ length: 1_000 }, () => type!) },
    { generation: '1' },
  );
  expect(turns).toBeGreaterThanOrEqual(7);
});

test('the stream has room for four hundred classes, each with all types of a region', async () => {
  const entries = catalogFor('us-east-1');
  const image = { id: 'ami-1', name: 'al2023', deprecated: false, variant: 'standard' } as const;
  const { types } = instanceTypesFor(
    nodeClassValue('default', {
      status: {
        subnets: ['a', 'b', 'c'].map((zone) => ({
          id: `subnet-${zone}`,
          zone: `us-east-1${zone}`,
          zoneId: `use1-${zone}`,
        })),
        securityGroups: [],
        amis: [
          { ...image, arch: 'amd64' },
          { ...image, arch: 'arm64' },
        ],
      },
    }),
    {
      region: 'us-east-1',
      facts: entries.map(({ facts }) => facts),
      zones: new Map(entries.map((entry) => [entry.facts.name, entry.zones])),
      prices: priceBookOf(
        entries.map(({ facts, onDemandPriceMicrosPerHour }) => ({
          instanceType: facts.name,
          capacityType: 'on-demand',
          priceMicrosPerHour: onDemandPriceMicrosPerHour ?? 0,
          estimated: false,
        })),
      ),
      isUnavailable: () => false,
    },
  );
  let bytes = 0;
  const counting = (message: OutgoingMessage) => {
    bytes += message.payload.length;
    return channel.bus.publish(message);
  };
  await publishClassCatalog(
    { ...channel, bus: { ...channel.bus, publish: counting } },
    { classUid: 'c', revision: 'r1', instanceTypes: types },
    { generation: '1' },
  );
  expect(types.length).toBeGreaterThan(500);
  expect(400 * bytes).toBeLessThan(0.7 * limits.catalogBytesMax);
});

describe('the catalog of a class', () => {
  const [type] = sampleCatalog.instanceTypes;
  const large = Array.from({ length: 750 }, (_, index) => ({ ...type!, name: `t${index}` }));
  const revision = (name: string, instanceTypes: readonly InstanceType[]) =>
    publishClassCatalog(
      channel,
      { classUid: 'c', revision: name, instanceTypes },
      { generation: name, stored: [0, 1, 2, 3, 4, 5] },
    );
  const told = async () =>
    (await heard(followCatalog(channel, stop))).flatMap((event) =>
      event.kind === 'class'
        ? [`${event.part.revision} ${event.part.part}`]
        : event.kind === 'class-gone'
          ? [`gone ${event.part}`]
          : [],
    );

  test('that has become smaller leaves no parts of the larger one behind', async () => {
    await revision('r1', large);
    await revision('r2', large.slice(0, 10));
    expect(await told()).toEqual(['gone 1', 'gone 2', 'gone 3', 'gone 4', 'gone 5', 'r2 0']);
  });

  test('that is dropped is told as gone, and takes no room after ten minutes', async () => {
    await revision('r1', large.slice(0, 10));
    await dropCatalogParts(channel, 'c', [0], { generation: 'g' });
    expect(await told()).toContain('gone 0');
    await clock.advance(limits.tombstoneMs + 1_000);
    expect(await told()).toEqual([]);
  });
});
