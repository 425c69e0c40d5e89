import { at } from '@dovetail/core-invariant';
import { describe, expect, test } from 'vitest';

import { plan } from './index.js';
import { assertComplete, assertEachPodOnce, assertLedgersHold, assertPricesAddUp } from './laws.js';
import { defaultPlanOptions } from './options.js';
import type { NewNode, Plan } from './plan.js';
import { Engine } from './rooms/engine.js';
import { podOf, podsOf, poolOf, snapshotOf } from './testing/objects.js';
import { familyTypes, mixedWorld } from './testing/worlds.js';
import { worldOf } from './world/world.js';

const world = mixedWorld(12);
const made = plan(world.snapshot, world.pods, world.options);

/** The plan with its first new node changed. */
function withFirst(change: (node: NewNode) => NewNode): Plan {
  const [first, ...others] = made.newNodes;
  if (first === undefined) throw new Error('the world of seed 12 needs new nodes');
  return { ...made, newNodes: [change(first), ...others] };
}

describe('the laws of a plan', () => {
  test('hold for a plan that was made', () => {
    expect(made.newNodes.length).toBeGreaterThan(0);
    assertEachPodOnce(made, world.pods);
    assertComplete(made);
    assertPricesAddUp(made);
  });

  test.each<[string, () => void, string]>([
    [
      'a pod that is named twice',
      () =>
        assertEachPodOnce(
          withFirst((node) => ({ ...node, podUids: [...node.podUids, ...node.podUids] })),
          world.pods,
        ),
      'a plan names each pod asked for once',
    ],
    [
      'a pod that nobody asked for',
      () =>
        assertEachPodOnce(
          { ...made, unplaced: [...made.unplaced, { podUid: 'stranger', reasons: [] }] },
          world.pods,
        ),
      'a plan names each pod asked for once',
    ],
    [
      'a pod that is forgotten',
      () => assertEachPodOnce(made, [...world.pods, podOf('forgotten', {})]),
      'a plan places or explains each pod asked for',
    ],
    [
      'a pod without a place and without a reason',
      () => assertComplete({ ...made, unplaced: [{ podUid: 'pod', reasons: [] }] }),
      'each pod without a place has a reason',
    ],
    [
      'a new node without pods',
      () => assertComplete(withFirst((node) => ({ ...node, podUids: [] }))),
      'each new node is for at least one pod',
    ],
    [
      'a new node without options',
      () => assertPricesAddUp(withFirst((node) => ({ ...node, options: [] }))),
      'each new node has at least one option',
    ],
    [
      'a price that is not the sum of its nodes',
      () => assertPricesAddUp({ ...made, priceMicrosPerHour: made.priceMicrosPerHour + 1 }),
      'the price of a plan is the sum of its nodes',
    ],
    [
      'options that do not begin with the cheapest',
      () =>
        assertPricesAddUp(
          withFirst((node) => ({
            ...node,
            options: node.options.map((option, index) => ({
              ...option,
              priceMicrosPerHour: index === 0 ? 1e9 : option.priceMicrosPerHour,
            })),
          })),
        ),
      'the first option of a node is its cheapest',
    ],
    [
      'a bound below zero',
      () => assertPricesAddUp({ ...made, bound: { kind: 'aggregate-lp', priceMicrosPerHour: -1 } }),
      'a bound is never negative',
    ],
  ])('refuse %s', (_what, check, law) => {
    expect(check).toThrow(law);
  });

  test('refuse limits that are overdrawn', () => {
    const snapshot = snapshotOf({
      pools: [{ pool: poolOf('default', { limits: { nodes: 1 } }), instanceTypes: familyTypes() }],
    });
    const engine = new Engine(worldOf(snapshot, podsOf('p', 3), defaultPlanOptions));
    const template = at(engine.world.templates, 0);
    const charge = (): void => {
      const bin = engine.open(engine.world.states.root(template));
      engine.accounts.charge(bin, template, at(template.offers, 0));
    };
    charge();
    assertLedgersHold(engine);
    charge();
    expect(() => assertLedgersHold(engine)).toThrow(
      'no account of a limit or reservation is below',
    );
  });

  test('refuse a ledger that counts below zero', () => {
    const engine = new Engine(worldOf(world.snapshot, world.pods, world.options));
    assertLedgersHold(engine);
    const [group] = engine.world.groups.groups;
    if (group === undefined) throw new Error('the world of seed 12 has topology groups');
    engine.ledger.note({ group, carries: false, selected: true }, 'zone-x', -1, true);
    expect(() => assertLedgersHold(engine)).toThrow('no count of pods per domain is below zero');
  });
});
