import { present } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import type { Offer } from '../model/templates.js';
import { defaultPlanOptions } from '../options.js';
import { podOf, poolOf, snapshotOf } from '../testing/objects.js';
import { familyTypes, legacyWorld, mixedWorld } from '../testing/worlds.js';
import { unsized, type World, worldOf } from '../world/world.js';
import type { State } from './states.js';

const seeds = Array.from({ length: 25 }, (_, index) => index + 1);
const worlds: readonly World[] = [...seeds.map(mixedWorld), ...seeds.map(legacyWorld)].map(
  ({ snapshot, pods, options }) => worldOf(snapshot, pods, options),
);

/** Every state that a first and a second shape lead to, from each opening. */
function reached(world: World): readonly State[] {
  const roots = world.templates.flatMap((template) => world.states.openings(template));
  const after = (states: readonly State[]): readonly State[] =>
    states.flatMap((state) =>
      world.shapes.shapes.flatMap((shape) => world.states.after(state, shape) ?? []),
    );
  const first = after(roots);
  return [...new Set([...roots, ...first, ...after(first)])];
}
const holdsAll = (large: Float64Array, small: Float64Array): boolean =>
  small.every((amount, index) => amount <= (large[index] ?? 0));
const priceOf = (offer: Offer): number => offer.offering.priceMicrosPerHour;

describe('in every generated world', () => {
  const eachState = (check: (state: State, world: World) => void): void => {
    for (const world of worlds) for (const state of reached(world)) check(state, world);
  };

  test('offers are cheapest first, and some of the offers of the template', () => {
    eachState(({ offers, template }) => {
      const kept = new Set(offers);
      expect(template.offers.filter((offer) => kept.has(offer))).toEqual(offers);
    });
  });

  test('for each offer without a reservation a frontier offer is as cheap and has as much room', () => {
    eachState(({ chargeable, frontier }) => {
      const uncovered = chargeable.filter(
        (offer) =>
          offer.offering.reservation === undefined &&
          !frontier.some(
            (other) =>
              priceOf(other) <= priceOf(offer) && holdsAll(other.type.room, offer.type.room),
          ),
      );
      expect(uncovered).toEqual([]);
    });
  });

  test('what fits an offer fits one of the widest rooms, and none of these is within another', () => {
    eachState(({ sizes, widest }) => {
      expect(sizes.filter(({ type }) => !widest.some((room) => holdsAll(room, type.room)))).toEqual(
        [],
      );
      expect(
        widest.filter((room) => widest.some((other) => other !== room && holdsAll(other, room))),
      ).toEqual([]);
    });
  });

  test('each type is chargeable once, as its cheapest offer', () => {
    eachState(({ sizes, chargeable }) => {
      const unreserved = chargeable.filter(({ offering }) => offering.reservation === undefined);
      const types = unreserved.map(({ type }) => type);
      expect(new Set(types).size).toBe(types.length);
      for (const offer of unreserved)
        expect(sizes.find(({ type }) => type === offer.type)).toBe(offer);
    });
  });

  test('a pod of a shape that is there already changes nothing', () => {
    for (const world of worlds)
      for (const template of world.templates)
        for (const shape of world.shapes.shapes) {
          const once = world.states.after(world.states.root(template), shape);
          if (once !== undefined) expect(world.states.after(once, shape)).toBe(once);
        }
  });

  test('shapes that may join in both orders lead to one state', () => {
    let met = 0;
    for (const { states, templates, shapes } of worlds)
      for (const template of templates)
        for (const a of shapes.shapes)
          for (const b of shapes.shapes) {
            const [first, second] = [a, b].map((s) => states.after(states.root(template), s));
            const there = first && states.after(first, b);
            const back = second && states.after(second, a);
            if (a === b || there === undefined || back === undefined) continue;
            met += 1;
            expect(there.id).toBe(back.id);
          }
    expect(met).toBeGreaterThan(100);
  });
});

describe('openings', () => {
  test('are the root alone where every type sizes nodes', () => {
    for (const world of worlds.map(unsized))
      for (const template of world.templates)
        expect(world.states.openings(template)).toEqual([world.states.root(template)]);
  });

  test('begin with a sized state where the template has sizes; both have every offer', () => {
    const sized = worlds.flatMap((world) =>
      world.templates.flatMap((template) =>
        template.sizes === undefined ? [] : [{ template, states: world.states }],
      ),
    );
    expect(sized.length).toBeGreaterThan(0);
    for (const { template, states } of sized) {
      const [first, second] = states.openings(template) as [State, State];
      expect([first.sized, second.sized]).toEqual([true, false]);
      expect(first.offers).toEqual(second.offers);
      expect(first.sizes.every(({ type }) => template.sizes?.has(type))).toBe(true);
      expect(states.openingOf(first)).toBe(first);
      expect(states.openingOf(second)).toBe(second);
    }
  });
});

test('which of two pods joins a node first does not matter', () => {
  const team = (operator: 'In' | 'NotIn', value: string): Partial<Pod> => ({
    requiredNodeAffinity: [
      { matchExpressions: [{ key: 'team', operator, values: [value] }], matchFields: [] },
    ],
  });
  const world = worldOf(
    snapshotOf({ pools: [{ pool: poolOf('default'), instanceTypes: familyTypes() }] }),
    [podOf('not-red', team('NotIn', 'red')), podOf('blue', team('In', 'blue'))],
    defaultPlanOptions,
  );
  const { states, shapes, templates } = world;
  const orders = [shapes.shapes, [...shapes.shapes].reverse()].map((order) =>
    order.reduce<State | undefined>(
      (state, shape) => state && states.after(state, shape),
      states.root(present(templates[0], 'the pool is open')),
    ),
  );
  expect(orders).toEqual([undefined, undefined]);
});

test('in every generated world two shapes lead to one state, in whichever order', () => {
  for (const { states, shapes, templates } of worlds)
    for (const template of templates)
      for (const one of shapes.shapes.slice(0, 12))
        for (const other of shapes.shapes.slice(0, 12)) {
          const [there, back] = [
            [one, other],
            [other, one],
          ].map((order) =>
            order.reduce<State | undefined>(
              (state, shape) => state && states.after(state, shape),
              states.root(template),
            ),
          );
          expect(there).toBe(back);
        }
});
