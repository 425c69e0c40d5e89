import { annotations } from '@dovetail/core-api';
import type { RetirementCause } from '@dovetail/core-disruption';
import type { KubeObject } from '@dovetail/core-ports';

import { isDeleted, type Node, type Pod, podsOn, retirementOf } from './facts.js';
import type { Law, Story } from './watchman.js';

/** Causes that never take a node whose pods may not be moved. Drift may, with a grace period. */
const obliging: ReadonlySet<RetirementCause> = new Set(['underutilized']);

/** A reaper knows of a block after this time, and one whose watches were late after the longer. */
const knownAfterMs = { usually: 60_000, late: 200_000 };

type Budget = KubeObject & { readonly status?: { readonly disruptionsAllowed?: number } };

/** Since when each budget has let no pod of its app go, in milliseconds since 1970. */
function blockedSince({ stage }: Story): ReadonlyMap<string, number> {
  const since = new Map<string, number>();
  stage.store.subscribe(({ table, kind, object }) => {
    if (table !== 'poddisruptionbudgets.policy') return;
    const { metadata, status } = object as Budget;
    if (kind === 'deleted' || status?.disruptionsAllowed !== 0) since.delete(metadata.name);
    else if (!since.has(metadata.name)) since.set(metadata.name, stage.clock.nowMs());
  });
  return since;
}

/** Since when each pod or node, by its UID, may not be disrupted, in milliseconds since 1970. */
function protectedSince({ stage }: Story, wanted: 'pods' | 'nodes'): ReadonlyMap<string, number> {
  const since = new Map<string, number>();
  stage.store.subscribe(({ table, kind, object: { metadata } }) => {
    if (table !== wanted) return;
    const { uid = '' } = metadata;
    if (kind === 'deleted' || metadata.annotations?.[annotations.doNotDisrupt] !== 'true')
      since.delete(uid);
    else if (!since.has(uid)) since.set(uid, stage.clock.nowMs());
  });
  return since;
}

/** No node is given up for money while it, or one of its pods, may not be disrupted. */
const blockedNodesStay: Law = (story) => {
  const { stage, tell } = story;
  const [blocked, kept] = [blockedSince(story), protectedSince(story, 'pods')];
  const keptNodes = protectedSince(story, 'nodes');
  const knownMs = (): number => {
    const nowMs = stage.clock.nowMs();
    const isLate = stage.wasTroubled('reaper', nowMs - knownAfterMs.late);
    return nowMs - (isLate ? knownAfterMs.late : knownAfterMs.usually);
  };
  const obstacleOf = ({ metadata }: Pod): string | undefined => {
    const { uid = '', labels: held } = metadata;
    const limitMs = knownMs();
    const budget = `${held?.['app'] ?? ''}-pdb`;
    if ((kept.get(uid) ?? Infinity) < limitMs) return 'is not to be disrupted';
    return (blocked.get(budget) ?? Infinity) < limitMs ? 'may not be evicted' : undefined;
  };
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== 'nodes' || before === undefined || isDeleted(object)) return;
    const [cause, earlier] = [object, before].map((node) => retirementOf(node as Node)?.cause);
    if (cause === undefined || earlier !== undefined || !obliging.has(cause)) return;
    if ((keptNodes.get(object.metadata.uid ?? '') ?? Infinity) < knownMs())
      return tell(`${object.metadata.name} is given up, and is not to be disrupted`);
    for (const pod of podsOn(stage)) {
      if (pod.spec?.nodeName !== object.metadata.name || isDeleted(pod)) continue;
      const why = obstacleOf(pod);
      if (why !== undefined)
        return tell(`${object.metadata.name} is given up, and ${pod.metadata.name} ${why}`);
    }
  });
};

/** Laws that hold at every moment for nodes whose pods may not be moved. */
export const lawsOfBlocks: readonly Law[] = [blockedNodesStay];
