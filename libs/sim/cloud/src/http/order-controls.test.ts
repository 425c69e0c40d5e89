import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startWire, type Wire } from '../testing/wire.js';

describe('orders to the market and the gate', () => {
  let wire: Wire;
  beforeAll(async () => {
    wire = await startWire();
  });
  afterAll(async () => wire.close());

  test.each([
    ['capacity', { instanceType: 'm5.lrge', free: 0 }, /instanceType: m5\.lrge is not sold in/],
    ['capacity', { zone: 'mars-1a', free: 0 }, /zone: mars-1a has no subnet here; zones with one/],
    ['prices', { percent: 0 }, /percent: 0 is not from 1 to 100000/],
    ['prices', { percent: 300, family: 'zz' }, /family: zz is not sold in/],
    ['prices', {}, /percent is required/],
    ['fail', { action: 'ec2:CreateFlet', code: 'x' }, /ec2:CreateFlet is not served here/],
    ['limits', { action: 'CreateFleet', documented: true }, /CreateFleet is not served here/],
  ])('%s %j is refused, because it would change nothing', async (path, body, message) =>
    expect(await wire.control('POST', path, body)).toMatchObject({
      status: 400,
      value: { message: expect.stringMatching(message) },
    }),
  );

  test('the Spot pools of a family cost so many percent, and 100 percent again', async () => {
    const { twin } = wire;
    const [type] = [...twin.types.values()].filter(({ facts }) => facts.name === 'm5.large');
    const zone = twin.account.subnets[0]?.zone ?? '';
    const priceNow = (): number =>
      (type && twin.market.priceAt(type, zone, twin.timeline.nowMs())?.priceMicros) ?? 0;
    twin.market.stand(twin.timeline.nowMs());
    const before = priceNow();
    await wire.control('POST', 'prices', { percent: 300, family: 'm5' });
    expect(priceNow() / before).toBeCloseTo(3, 1);
    await wire.control('POST', 'prices', { percent: 100 });
    expect(priceNow()).toBe(before);
  });

  test('an action gets its documented limit back', async () => {
    const { gate } = wire.twin;
    const call = (): Promise<boolean> =>
      gate.run('ec2:CreateFleet', {}, () => true).catch(() => false);
    const limit = { action: 'ec2:CreateFleet', capacity: 0, refillPerSecond: 0 };
    await wire.control('POST', 'limits', limit);
    expect(await call()).toBe(false);
    await wire.control('POST', 'limits', { action: 'ec2:CreateFleet', documented: true });
    expect(await call()).toBe(true);
  });

  test('calls that were to fail do not, once that is taken back', async () => {
    const { gate } = wire.twin;
    await wire.control('POST', 'fail', { action: '*', code: 'InternalError', times: 9 });
    await wire.control('DELETE', 'fail');
    expect(await gate.run('ec2:DescribeSubnets', {}, () => true)).toBe(true);
  });
});
