import { describe, expect, test } from 'vitest';

import type { Offer } from '../model/templates.js';
import { gibibytes, offeringOf, typeOf } from '../testing/objects.js';
import { before, type Step, stepsText, typeNames } from './steps.js';

const offersOf = (name: string, zones: readonly string[]): readonly Offer[] => {
  const offerings = zones.map((zone) => offeringOf(zone, 'on-demand', 1));
  const type = typeOf({ name, cpuMillis: 1000, memoryBytes: gibibytes(1), offerings });
  const room = { type, room: new Float64Array(), overhead: new Float64Array(), hostPorts: [] };
  return offerings.map((offering) => ({ type: room, offering }));
};

describe('the names of the types that offers are of', () => {
  test.each<[string, readonly Offer[], readonly string[]]>([
    ['no offer', [], []],
    ['one type in two zones', offersOf('m.2', ['a', 'b']), ['m.2']],
    [
      'two types',
      [...offersOf('m.2', ['a']), ...offersOf('m.4', ['a']), ...offersOf('m.2', ['b'])],
      ['m.2', 'm.4'],
    ],
  ])('of %s', (_, offers, names) => expect([...typeNames(offers)]).toEqual(names));
});

describe('the steps at which types fell, as text', () => {
  const zone: Step = { what: 'zone', fell: 3, of: 10 };
  const none: Step = { what: 'arch', fell: 0, of: 7 };
  const cpu: Step = { what: 'cpu', fell: 7, of: 7 };
  test.each<[string, readonly Step[], string, string]>([
    ['no steps', [], '', ''],
    ['a step at which no type fell', [none], '', ''],
    ['one step', [zone], 'zone 3 of 10', ' (types excluded before: zone 3 of 10)'],
    [
      'several, without the one at which no type fell',
      [zone, none, cpu],
      'zone 3 of 10, cpu 7 of 7',
      ' (types excluded before: zone 3 of 10, cpu 7 of 7)',
    ],
  ])('of %s', (_, steps, text, parenthesis) => {
    expect(stepsText(steps)).toBe(text);
    expect(before(steps)).toBe(parenthesis);
  });
});
