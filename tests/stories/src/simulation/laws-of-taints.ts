import { taints } from '@dovetail/core-api';

import { isDeleted, type Node, nodesOn, retirementOf } from './facts.js';
import type { Law } from './watchman.js';

/** A pass of the reaper takes such a taint off, and another one may have to take over first. */
const leftTaintSeconds = 120;

const isLeft = (node: Node): boolean =>
  !isDeleted(node) &&
  retirementOf(node) === undefined &&
  (node.spec?.taints ?? []).some(({ key }) => key === taints.disrupted.key);

/** No node keeps the taint of a retirement that it has no more. */
const noTaintIsLeft: Law = ({ stage, deletedByHand, tell }) => {
  const since = new Map<string, number>();
  return () => {
    const left = nodesOn(stage).filter(isLeft);
    const names = new Set(left.map(({ metadata }) => metadata.name));
    for (const name of [...since.keys()]) if (!names.has(name)) since.delete(name);
    for (const name of names) {
      const at = since.get(name) ?? stage.seconds();
      since.set(name, at);
      if (stage.seconds() - at <= leftTaintSeconds || deletedByHand.has(name)) continue;
      if (stage.wasTroubled('reaper', stage.clock.nowMs() - leftTaintSeconds * 1_000)) continue;
      tell(`node ${name} is tainted, and nothing retires it`);
      since.set(name, Infinity);
    }
  };
};

/** Laws that hold for taints at every moment. */
export const lawsOfTaints: readonly Law[] = [noTaintIsLeft];
