import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { fleetRequest, joiningTemplate, smallAccount } from '../testing/small-account.js';

const types = ['m5.large', 'm5a.large', 'c5.xlarge'];
const zones = ['us-west-2a', 'us-west-2b', 'us-west-2d'];
const anyPool = fc.record({
  instanceType: fc.constantFrom(...types),
  zone: fc.constantFrom(...zones),
  free: fc.nat({ max: 4 }),
});
const anyRequest = fc.record({
  count: fc.integer({ min: 1, max: 12 }),
  capacityType: fc.constantFrom('on-demand' as const, 'spot' as const),
  token: fc.nat({ max: 3 }),
  repeat: fc.boolean(),
});

describe('for all capacities and requests', () => {
  test('a fleet has as many instances as were asked for and free, never more, and says what was short', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyPool, { maxLength: 9 }),
        fc.integer({ min: 1, max: 30 }),
        fc.constantFrom('on-demand' as const, 'spot' as const),
        async (pools, count, capacityType) => {
          const account = smallAccount();
          await joiningTemplate(account);
          account.twin.setCapacity({ free: 0 });
          for (const pool of pools) account.twin.setCapacity({ ...pool, capacityType });
          const free = types.flatMap((instanceType) =>
            zones.map((zone) => account.twin.capacity.free({ instanceType, zone, capacityType })),
          );
          const room = free.reduce((sum, one) => sum + one, 0);
          const { instances, errors } = await account.cloud.createFleet(
            fleetRequest(account, types, { count, capacityType }),
          );
          expect(instances).toHaveLength(Math.min(count, room));
          if (room < count) expect(errors).toHaveLength(free.length);
          const left = types.flatMap((instanceType) =>
            zones.map((zone) => account.twin.capacity.free({ instanceType, zone, capacityType })),
          );
          expect(left.reduce((sum, one) => sum + one, 0)).toBe(room - instances.length);
          expect(left.every((one) => one >= 0)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('each token launches once, no address is held twice, and the same calls give the same account', async () => {
    const history = async (
      requests: readonly {
        count: number;
        capacityType: 'on-demand' | 'spot';
        token: number;
        repeat: boolean;
      }[],
    ) => {
      const account = smallAccount();
      await joiningTemplate(account);
      const told: unknown[] = [];
      const byToken = new Map<number, Set<string>>();
      for (const { count, capacityType, token, repeat } of requests) {
        const send = () =>
          account.cloud
            .createFleet(
              fleetRequest(account, types, { count, capacityType, clientToken: `t${token}` }),
            )
            .catch((error: { awsCode: string }) => error.awsCode);
        const outcome = await send();
        told.push(outcome, repeat ? await send() : undefined);
        if (repeat) expect(await send()).toEqual(outcome);
        if (typeof outcome !== 'string')
          byToken.set(token, new Set([...(byToken.get(token) ?? []), outcome.fleetId]));
        await account.clock.advance(200);
      }
      for (const fleets of byToken.values()) expect(fleets.size).toBe(1);
      const live = account.twin.instances.all();
      expect(new Set(live.map(({ address }) => address.ip)).size).toBe(live.length);
      expect(new Set(live.map(({ id }) => id)).size).toBe(live.length);
      return { told, ids: live.map(({ id, zone, instanceType }) => [id, zone, instanceType]) };
    };
    await fc.assert(
      fc.asyncProperty(fc.array(anyRequest, { maxLength: 6 }), async (requests) => {
        expect(await history(requests)).toEqual(await history(requests));
      }),
      { numRuns: 25 },
    );
  });
});

describe('capacity', () => {
  test('that an instance took is free again when it has ended; none stays none', async () => {
    const account = smallAccount({ consistencyMs: 0 });
    await joiningTemplate(account);
    const pool = {
      instanceType: 'm5.large',
      zone: 'us-west-2a',
      capacityType: 'on-demand' as const,
    };
    account.twin.setCapacity({ free: 0 });
    account.twin.setCapacity({ ...pool, free: 1 });
    const {
      instances: [first],
    } = await account.cloud.createFleet(fleetRequest(account, ['m5.large']));
    expect(account.twin.capacity.free(pool)).toBe(0);
    await account.cloud.terminate([first?.id ?? '']);
    expect(account.twin.capacity.free(pool)).toBe(0);
    await account.clock.advance(1_000);
    expect(account.twin.capacity.free(pool)).toBe(1);
    const {
      instances: [second],
    } = await account.cloud.createFleet(
      fleetRequest(account, ['m5.large'], { clientToken: 'two' }),
    );
    account.twin.setCapacity({ ...pool, free: 0 });
    await account.cloud.terminate([second?.id ?? '']);
    await account.clock.advance(1_000);
    expect(account.twin.capacity.free(pool)).toBe(0);
  });

  test.each<[string, 'on-demand' | 'spot', string]>([
    ['vCPU quota', 'on-demand', 'VcpuLimitExceeded'],
    ['Spot quota', 'spot', 'MaxSpotInstanceCountExceeded'],
  ])('ends at the %s', async (_what, capacityType, awsCode) => {
    const account = smallAccount({ vcpuQuota: { onDemand: 5, spot: 5 } });
    await joiningTemplate(account);
    const { instances, errors } = await account.cloud.createFleet(
      fleetRequest(account, ['m5.large'], { count: 4, capacityType }),
    );
    expect(instances).toHaveLength(2);
    expect(new Set(errors.map((error) => error.awsCode))).toEqual(new Set([awsCode]));
  });

  test('of Spot above the most that one would pay is not bought', async () => {
    const account = smallAccount();
    await joiningTemplate(account);
    const input = {
      type: 'instant',
      capacityType: 'spot',
      capacity: 1,
      spotStrategy: 'lowest-price' as const,
      onDemandStrategy: 'lowest-price' as const,
      instanceTags: {},
      fleetTags: {},
      volumeTags: {},
      configs: [
        {
          template: { name: 'dovetail/one' },
          overrides: [
            {
              instanceType: 'm5.large',
              subnetId: account.twin.account.subnets[0]?.id ?? '',
              maxPriceMicros: 1,
            },
          ],
        },
      ],
    };
    expect(account.twin.fleets.create(input)).toMatchObject({
      groups: [],
      errors: [{ code: 'SpotMaxPriceTooLow' }],
    });
  });
});

describe('what EC2 has not heard of yet', () => {
  test('is a fresh instance, for reads, tags and terminations alike', async () => {
    const account = smallAccount({ consistencyMs: 300 });
    await joiningTemplate(account);
    const {
      instances: [one],
    } = await account.cloud.createFleet(fleetRequest(account, ['m5.large'], { tags: { a: 'b' } }));
    const id = one?.id ?? '';
    const byTag = () => account.cloud.instancesByTag([{ name: 'tag:a', values: ['b'] }]);
    expect(await byTag()).toEqual([]);
    await expect(account.cloud.tagInstances([id], { c: 'd' })).rejects.toMatchObject({
      code: 'not-found',
      awsCode: 'InvalidInstanceID.NotFound',
    });
    expect(await account.cloud.terminate([id])).toEqual([]);
    await account.clock.advance(300);
    expect(await byTag()).toMatchObject([{ id, state: 'pending' }]);
    await account.cloud.tagInstances([id], { c: 'd' });
    expect(await byTag()).toMatchObject([{ tags: { a: 'b', c: 'd' } }]);
  });

  test('is a fresh launch template, and a fresh instance profile', async () => {
    const account = smallAccount({
      launchTemplateConsistencyMs: 1_000,
      profileConsistencyMs: 10_000,
    });
    await account.cloud.ensureInstanceProfile({
      name: 'fresh',
      role: 'KarpenterNodeRole-lab',
      path: '/',
      tags: {},
    });
    await joiningTemplate(account, { instanceProfileName: 'fresh' });
    await expect(
      account.cloud.createFleet(fleetRequest(account, ['m5.large'])),
    ).rejects.toMatchObject({ code: 'launch-template-missing' });
    await account.clock.advance(1_000);
    const early = await account.cloud.createFleet(fleetRequest(account, ['m5.large']));
    expect([early.instances, new Set(early.errors.map(({ message }) => message))]).toEqual([
      [],
      new Set([
        'Value (fresh) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name',
      ]),
    ]);
    await account.clock.advance(10_000);
    expect(
      (
        await account.cloud.createFleet(
          fleetRequest(account, ['m5.large'], { clientToken: 'again' }),
        )
      ).instances,
    ).toHaveLength(1);
  });
});

test('a type is refused in a zone that does not offer it, by the name of both', async () => {
  const account = smallAccount({}, { zones: ['d'] });
  await joiningTemplate(account);
  const absent =
    account.twin.account.types.find(
      ({ facts, zones: offered }) => facts.arch === 'amd64' && !offered.includes('us-west-2d'),
    )?.facts.name ?? '';
  const { errors } = await account.cloud.createFleet(fleetRequest(account, [absent]));
  expect(errors).toEqual([
    {
      awsCode: 'InvalidFleetConfiguration',
      message: `Your requested instance type (${absent}) is not supported in your requested Availability Zone (us-west-2d).`,
      instanceType: absent,
      zone: 'us-west-2d',
      subnetId: account.twin.account.subnets[0]?.id,
    },
  ]);
});
