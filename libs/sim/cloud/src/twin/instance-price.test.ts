import { describe, expect, test } from 'vitest';

import { fleetRequest, joiningTemplate, smallAccount } from '../testing/small-account.js';
import { hourlyPriceOf } from './instance-price.js';

describe('the hourly price of an instance', () => {
  test.each(['on-demand', 'spot'] as const)(
    'is the quoted price of its %s offering',
    async (capacityType) => {
      const account = smallAccount();
      await joiningTemplate(account);
      const {
        instances: [one],
      } = await account.cloud.createFleet(fleetRequest(account, ['m5.large'], { capacityType }));
      const instance = account.twin.instances.get(one?.id ?? '');
      const quotes =
        capacityType === 'spot'
          ? await account.cloud.spotPrices()
          : await account.cloud.onDemandPrices();
      const quote = quotes.find(
        ({ instanceType, zone }) =>
          instanceType === 'm5.large' && (zone === undefined || zone === instance.zone),
      );
      expect(quote?.priceMicrosPerHour).toBeGreaterThan(0);
      expect(hourlyPriceOf(account.twin, instance)).toBe(quote?.priceMicrosPerHour);
    },
  );
});
