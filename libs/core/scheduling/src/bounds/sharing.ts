import { at } from '@dovetail/core-invariant';

import type { PodClass } from '../model/classes.js';
import { anyClash } from '../model/host-ports.js';
import type { World } from '../world/world.js';
import { carriedAlways } from './problem.js';

/** Whether one more pod of the item may join pods of these numbers on one node. */
export type MayShare = (counts: readonly number[], index: number) => boolean;

/** A hostname rule over items: which of them carry it always, and which of them it selects. */
type Rule = {
  readonly kind: 'anti' | 'spread';
  readonly most: number;
  readonly carries: readonly boolean[];
  readonly selects: readonly boolean[];
};

const sum = (counts: readonly number[], of: readonly boolean[]): number =>
  counts.reduce((total, count, index) => total + (of[index] === true ? count : 0), 0);

/**
 * Anti-affinity: no other selected pod beside one that carries the rule. Spread: no more pods under
 * the rule than the skew allows, where the emptiest node counts as 0.
 */
function allows(rule: Rule, counts: readonly number[]): boolean {
  if (rule.kind === 'spread')
    return (
      sum(
        counts,
        rule.carries.map((carries, index) => carries && at(rule.selects, index)),
      ) <= rule.most
    );
  const selected = sum(counts, rule.selects);
  return counts.every(
    (count, index) =>
      count === 0 || !at(rule.carries, index) || selected <= (at(rule.selects, index) ? 1 : 0),
  );
}

function rulesOf(world: World, items: readonly PodClass[]): readonly Rule[] {
  const strict = world.options.hostnameSpread === 'strict';
  return world.groups.groups.flatMap((group): readonly Rule[] => {
    const { kind, maxSkew: most } = group;
    if (!group.onHost || !group.hard || kind === 'affinity') return [];
    // How many pods of a balanced spread a node may hold depends on all the other nodes.
    if (kind === 'spread' && !strict) return [];
    const carries = items.map((cls) => carriedAlways(cls, group));
    const selects = items.map((cls) => cls.selectedBy.includes(group));
    return carries.includes(true) ? [{ kind, most, carries, selects }] : [];
  });
}

/**
 * The rules about pods that share a node: host ports, anti-affinity over hostnames, and hostname
 * spread in `strict` mode. Each also holds for a part of the pods.
 */
export function sharingOf(world: World, items: readonly PodClass[]): MayShare {
  const rules = rulesOf(world, items);
  const clashes = items.map((a) => items.map((b) => anyClash(a.pod.hostPorts, b.pod.hostPorts)));
  return (counts, index) => {
    const more = counts.map((count, other) => (other === index ? count + 1 : count));
    return (
      !counts.some((count, other) => count > 0 && at(at(clashes, index), other)) &&
      rules.every((rule) => allows(rule, more))
    );
  };
}
