import type { DaemonSet } from '@dovetail/core-kube-model';

import type { ExistingNode } from '../snapshot.js';
import { daemonsOf } from './daemons.js';
import { missingDaemons, nodeRequirements } from './nodes.js';

/** The daemonsets that will run on a node and of which no pod has been made for it yet. */
export function expectedDaemonSets(
  node: ExistingNode,
  daemonSets: readonly DaemonSet[],
): readonly DaemonSet[] {
  const missing = new Set(
    missingDaemons(node, nodeRequirements(node), daemonsOf(daemonSets, { names: [] })).map(
      ({ uid }) => uid,
    ),
  );
  return daemonSets.filter(({ uid }) => missing.has(uid));
}
