import type { FleetRequest, Subnet } from '@dovetail/core-ec2-model';
import { kubeResources } from '@dovetail/core-ports';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';
import { SubnetUse } from './subnet-use.js';

describe('the free addresses of subnets', () => {
  const subnets = (): readonly Subnet[] =>
    ['a1', 'a2'].map((id) => ({ id, zone: 'a', zoneId: 'z', tags: {}, freeAddresses: 100 }));
  const left = (use: SubnetUse, of: readonly Subnet[]): readonly number[] =>
    use.free(of).map(({ freeAddresses }) => freeAddresses);

  test('are less by what was launched since they were read, and are as read after the next reading', () => {
    const use = new SubnetUse();
    const [before, after] = [subnets(), subnets()];
    use.take(before, 'a1', 58);
    use.take(before, 'a1', 29);
    expect(left(use, before)).toEqual([13, 100]);
    expect(left(use, after)).toEqual([100, 100]);
  });

  test('are none where EC2 says so, and the zone has room as long as another subnet has', () => {
    const use = new SubnetUse();
    const read = subnets();
    use.fill(read, 'a1');
    expect([left(use, read), use.hasRoom(read, 'a')]).toEqual([[0, 100], true]);
    use.fill(read, 'a2');
    expect([left(use, read), use.hasRoom(read, 'a')]).toEqual([[0, 0], false]);
  });
});

describe('a subnet without addresses', () => {
  let self: LauncherStage;
  afterEach(() => {
    self.end();
  });

  test('is left for another of its zone, and no offering is avoided for it', async () => {
    self = await launcherStage({ zones: ['a'] });
    await self.readyPool();
    const ports = self.ports();
    const requests: FleetRequest[] = [];
    const subnetsIn = (request: FleetRequest | undefined): readonly string[] => [
      ...new Set(request?.configs.flatMap(({ overrides }) => overrides.map((o) => o.subnetId))),
    ];
    self.launcher('one', {
      ports: {
        ...ports,
        cloud: {
          ...ports.cloud,
          // A second subnet in the zone, with fewer addresses.
          subnets: async (filters) =>
            (await ports.cloud.subnets(filters)).flatMap((subnet) => [
              subnet,
              { ...subnet, id: `${subnet.id}-small`, freeAddresses: subnet.freeAddresses - 1 },
            ]),
          createFleet: (request) => {
            requests.push(request);
            const errors = request.configs.flatMap(({ overrides }) =>
              overrides.map(({ instanceType, subnetId, zone }) => ({
                awsCode: 'InsufficientFreeAddressesInSubnet',
                message: 'not enough free addresses',
                ...{ instanceType, subnetId, zone },
              })),
            );
            return Promise.resolve({ fleetId: 'fleet', instances: [], errors });
          },
        },
      },
    });
    await self.planningPossible();
    await self.kube.create(kubeResources.pods, podObject('a'));
    self.planner.planAlways();
    await self.until('two requests', () => requests.length >= 2, 30_000);
    const [first, second] = requests.map(subnetsIn);
    expect([first?.length, second?.length]).toEqual([1, 1]);
    expect(second).toEqual(first?.map((id) => `${id}-small`));
    await self.until('the offerings to be avoided at last', () =>
      self
        .launchers()
        .some((launcher) => JSON.stringify(launcher.debugState()).includes('Insufficient')),
    );
    expect(requests).toHaveLength(2);
  });
});
