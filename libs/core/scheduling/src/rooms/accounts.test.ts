import type { Pool } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { at } from '@dovetail/core-invariant';
import type { HostPort } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Offer } from '../model/templates.js';
import { chargeOf } from '../model/templates.js';
import { defaultPlanOptions } from '../options.js';
import {
  daemonSetOf,
  gibibytes,
  offeringOf,
  podsOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import {
  Accounts,
  cheapestFor,
  cheapestTypes,
  type Load,
  offerHolds,
  offersFor,
  type Refusal,
} from './accounts.js';
import type { Bin } from './bin.js';

const coresOf = (cores: number, price = cores * 10): InstanceType =>
  typeOf({
    name: `m.${cores}`,
    cpuMillis: cores * 1000,
    memoryBytes: gibibytes(4 * cores),
    offerings: [offeringOf('a', 'on-demand', price), offeringOf('b', 'on-demand', price + 1)],
  });
const reserved = (remaining: number): InstanceType =>
  typeOf({
    name: 'reserved.2',
    cpuMillis: 2000,
    memoryBytes: gibibytes(8),
    offerings: [offeringOf('a', 'reserved', 1, { reservation: { id: 'cr-1', remaining } })],
  });

function accountsFor(
  pool: Partial<Pool>,
  over: {
    readonly types?: readonly InstanceType[];
    readonly strictReservations?: boolean;
    readonly strictMinValues?: boolean;
  } = {},
) {
  const {
    types = [1, 2, 4].map((cores) => coresOf(cores)),
    strictReservations = true,
    strictMinValues = true,
  } = over;
  const snapshot = snapshotOf({ pools: [{ pool: poolOf('default', pool), instanceTypes: types }] });
  const world = worldOf(snapshot, podsOf('p', 99), defaultPlanOptions);
  const [template] = world.templates;
  if (template === undefined) throw new Error('the pool is open');
  const accounts = new Accounts([template], { strictReservations, strictMinValues, typesMax: 600 });
  return { accounts, template, state: world.states.root(template) };
}
const load = (cpu: number, ports: readonly HostPort[] = []): Load => ({
  used: Float64Array.of(cpu, 0, 1),
  ports,
});
const named = (found: Offer | Refusal | undefined): string | undefined =>
  typeof found === 'object' ? `${found.type.type.name} ${found.offering.zone}` : found;
const emptyBin = () => ({}) as unknown as Bin;
const typesMin = (minValues: number): Partial<Pool> => ({
  requirements: [
    { key: 'node.kubernetes.io/instance-type', operator: 'Exists', values: [], minValues },
  ],
});

describe('the offer that a node is charged as', () => {
  type Over = NonNullable<Parameters<typeof accountsFor>[1]>;
  const some: Over = { types: [reserved(1), coresOf(2)] };
  test.each<[string, Partial<Pool>, Over, number, string]>([
    ['the cheapest that holds it', {}, {}, 1500, 'm.2 a'],
    ['the cheapest of all, if it is small', {}, {}, 100, 'm.1 a'],
    ['none, if it is too large', {}, {}, 5000, 'resources-too-large'],
    ['one within the limit of the pool', { limits: { cpu: 2000 } }, {}, 1500, 'm.2 a'],
    ['none above the limit', { limits: { cpu: 1000 } }, {}, 1500, 'pool-limit'],
    ['none, if no node is left', { limits: { nodes: 0 } }, {}, 100, 'pool-limit'],
    ['a reserved one while there is one', {}, some, 1500, 'reserved.2 a'],
  ])('is %s', (_what, pool, over, cpu, expected) => {
    const { accounts, state } = accountsFor(pool, over);
    expect(named(accounts.choose(state, load(cpu), undefined))).toBe(expected);
  });

  test.each([
    [
      'waits for a reservation that is given out, where these are strict',
      true,
      'reserved-capacity',
    ],
    ['falls back to on-demand where they are not', false, 'm.2 a'],
  ])('%s', (_what, strictReservations, expected) => {
    const { accounts, state, template } = accountsFor({}, { ...some, strictReservations });
    const bin = emptyBin();
    const offer = accounts.choose(state, load(1500), undefined) as Offer;
    accounts.charge(bin, template, offer);
    expect(named(accounts.choose(state, load(1500), undefined))).toBe(expected);
    expect(named(accounts.choose(state, load(1500), bin))).toBe('reserved.2 a');
    accounts.charge(bin, template, undefined);
    expect(named(accounts.choose(state, load(1500), undefined))).toBe('reserved.2 a');
  });

  test('is, with minValues and limits, as large as the largest that may be launched', () => {
    const pool: Partial<Pool> = {
      limits: { cpu: 6000 },
      requirements: [
        { key: 'node.kubernetes.io/instance-type', operator: 'Exists', values: [], minValues: 2 },
      ],
    };
    const { accounts, state, template } = accountsFor(pool);
    const offer = accounts.choose(state, load(100), undefined) as Offer;
    expect(named(offer)).toBe('m.1 a');
    expect(chargeOf(offer, 'cpu')).toBe(4000);
    accounts.charge(emptyBin(), template, offer);
    expect(accounts.left(template, 'cpu')).toBe(2000);
    // Of what is left, two types are within the limit; of those that hold 1.5 cores, one is.
    expect(named(accounts.choose(state, load(100), undefined))).toBe('m.1 a');
    expect(accounts.choose(state, load(1500), undefined)).toBe('pool-limit');
  });
});

describe('limits', () => {
  test('are charged by a node once, and given back by it', () => {
    const { accounts, state, template } = accountsFor({ limits: { cpu: 5000, nodes: 3 } });
    const left = () => ['cpu', 'nodes'].map((name) => accounts.left(template, name));
    const bin = emptyBin();
    for (const [cpu, expected] of [
      [100, [4000, 2]],
      [1500, [3000, 2]],
      [3000, [1000, 2]],
    ] as const) {
      accounts.charge(bin, template, accounts.choose(state, load(cpu), bin) as Offer);
      expect(left()).toEqual(expected);
    }
    expect(named(accounts.choose(state, load(3000), bin))).toBe('m.4 a');
    expect(accounts.choose(state, load(3000), undefined)).toBe('pool-limit');
    accounts.charge(bin, template, undefined);
    expect(left()).toEqual([5000, 3]);
    expect(bin.offer).toBeUndefined();
  });

  test.each<[string, Partial<Pool>, readonly InstanceType[], boolean]>([
    ['without limits, reservations and minValues nobody asks', {}, [coresOf(1)], false],
    ['with a limit somebody asks', { limits: { cpu: 1000 } }, [coresOf(1)], true],
    [
      'with a limit that no plan reaches nobody asks',
      { limits: { cpu: 1e9 } },
      [coresOf(1)],
      false,
    ],
    ['with a reservation somebody asks', {}, [reserved(1)], true],
    [
      'with minValues somebody asks',
      { requirements: [{ key: 'team', operator: 'Exists', values: [], minValues: 1 }] },
      [coresOf(1)],
      true,
    ],
  ])('%s', (_what, pool, types, applies) => {
    expect(Accounts.applies(accountsFor(pool, { types }).template)).toBe(applies);
  });
});

describe('the accounts', () => {
  const limited: Partial<Pool> = { limits: { cpu: 5000, nodes: 2 } };
  type Given = ReturnType<typeof accountsFor>;
  const charged = ({ accounts, state, template }: Given, count: number): Given['accounts'] => {
    const offer = at(state.offers, 0);
    for (let done = 0; done < count; done += 1) accounts.charge(emptyBin(), template, offer);
    return accounts;
  };
  const givenBack = ({ accounts, state, template }: Given): Given['accounts'] => {
    accounts.charge({ offer: at(state.offers, 0) } as unknown as Bin, template, undefined);
    return accounts;
  };

  test.each<[string, Given['accounts'], boolean]>([
    ['hold before any node is charged', accountsFor(limited).accounts, true],
    ['hold up to the limit', charged(accountsFor(limited), 2), true],
    ['do not hold above it', charged(accountsFor(limited), 3), false],
    ['do not hold if a charge is given back twice', givenBack(accountsFor(limited)), false],
    [
      'hold for a limit that was overdrawn before',
      accountsFor({ limits: { cpu: -1 } }).accounts,
      true,
    ],
    ['hold while a reservation lasts', charged(accountsFor({}, { types: [reserved(2)] }), 2), true],
    ['do not hold beyond it', charged(accountsFor({}, { types: [reserved(1)] }), 2), false],
  ])('%s', (_what, accounts, holds) => expect(accounts.neverOverdrawn()).toBe(holds));

  test('know only the limits that a plan can reach', () => {
    const { accounts, template } = accountsFor({ limits: { cpu: 1e9 } });
    expect(() => accounts.left(template, 'cpu')).toThrow('only limits that can bind have accounts');
  });

  test('stay at zero or above, whatever nodes are charged for any loads', () =>
    fc.assert(
      fc.property(
        fc.array(fc.record({ bin: fc.nat({ max: 4 }), cpu: fc.integer({ min: 0, max: 4500 }) })),
        fc.constantFrom<readonly [Partial<Pool>, readonly InstanceType[]]>(
          [limited, [coresOf(1), coresOf(2), coresOf(4)]],
          [{}, [reserved(2), coresOf(4)]],
          [{ ...limited, requirements: typesMin(2).requirements ?? [] }, [coresOf(1), coresOf(2)]],
        ),
        fc.boolean(),
        (changes, [pool, types], strictReservations) => {
          const { accounts, state, template } = accountsFor(pool, { types, strictReservations });
          const bins = Array.from({ length: 5 }, emptyBin);
          for (const { bin, cpu } of changes) {
            const node = at(bins, bin);
            const offer = accounts.choose(state, load(cpu), node);
            accounts.charge(node, template, typeof offer === 'string' ? undefined : offer);
            expect(accounts.neverOverdrawn()).toBe(true);
          }
        },
      ),
      { seed: 1 },
    ));
});

describe('minimum values', () => {
  test.each([
    ['are kept while enough types hold the load', 3, 100, true],
    ['are kept exactly', 2, 1500, true],
    ['are not kept once too few types hold it', 3, 1500, false],
  ])('%s', (_what, minimum, cpu, kept) => {
    const { accounts, state } = accountsFor(typesMin(minimum));
    expect(accounts.keepsMinValues(state, load(cpu))).toBe(kept);
  });
});

describe('offers that hold a load', () => {
  const { state } = accountsFor({});
  test('are those with as much room, cheapest first; the first is the cheapest', () => {
    expect(offersFor(state, load(1500)).map(named)).toEqual(['m.2 a', 'm.2 b', 'm.4 a', 'm.4 b']);
    expect(named(cheapestFor(state, load(1500)))).toBe('m.2 a');
    expect(offersFor(state, load(5000))).toEqual([]);
    expect(cheapestFor(state, load(5000))).toBeUndefined();
  });

  test('are of so many types as asked for, with all offers of each', () => {
    expect(cheapestTypes(state.offers, 2).map(named)).toEqual(['m.1 a', 'm.1 b', 'm.2 a', 'm.2 b']);
    expect(cheapestTypes(state.offers, 0)).toEqual([]);
    expect(cheapestTypes(state.offers, 9)).toEqual(state.offers);
  });

  test.each<[string, number, boolean]>([
    ['is taken by a daemonset', 9100, false],
    ['is free', 80, true],
  ])('depend on whether a host port %s', (_what, port, holds) => {
    const portOf = (number: number): HostPort => ({ ip: '', port: number, protocol: 'TCP' });
    const snapshot = snapshotOf({
      pools: [{ pool: poolOf('default'), instanceTypes: [coresOf(1)] }],
      daemonSets: [daemonSetOf('agent', { hostPorts: [portOf(9100)] })],
    });
    const [template] = worldOf(snapshot, [], defaultPlanOptions).templates;
    expect(template?.offers.map((offer) => offerHolds(offer, load(100, [portOf(port)])))).toEqual([
      holds,
      holds,
    ]);
  });
});
