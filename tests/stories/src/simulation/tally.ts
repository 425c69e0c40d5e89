import { annotations } from '@dovetail/core-api';

import type { StoryStage } from '../story-stage.js';
import { isDeleted, type Node, retirementOf } from './facts.js';

/** How often each thing happened that a story is told for. */
export type Tally = {
  /** Claims that buy a cheaper node for the pods of others. */
  readonly replacements: number;
  /** Under-used nodes that ended. */
  readonly removals: number;
  /** Commands of two nodes or more. */
  readonly joint: number;
  /** Under-used nodes that were kept after all. */
  readonly givenBack: number;
  readonly drifts: number;
  /** Nodes that ended because an agent said that they are broken. */
  readonly repairs: number;
  /** Leases that went to another replica. */
  readonly takeOvers: number;
};

type Counts = { -readonly [K in keyof Tally]: Tally[K] };

/** Nothing has happened. */
export const noTally: Tally = {
  replacements: 0,
  removals: 0,
  joint: 0,
  givenBack: 0,
  drifts: 0,
  repairs: 0,
  takeOvers: 0,
};

/** How often each thing happened in both. */
export const sumOf = (a: Tally, b: Tally): Tally => ({
  replacements: a.replacements + b.replacements,
  removals: a.removals + b.removals,
  joint: a.joint + b.joint,
  givenBack: a.givenBack + b.givenBack,
  drifts: a.drifts + b.drifts,
  repairs: a.repairs + b.repairs,
  takeOvers: a.takeOvers + b.takeOvers,
});

const isDisruption = (table: string): boolean => table === 'disruptions.dovetail.sh';

/** Counts what happens to nodes. */
function countNode(counts: Counts, now: Node, before: Node | undefined, gone: boolean): void {
  const cause = retirementOf(before ?? now)?.cause;
  if (gone && retirementOf(now)?.cause === 'underutilized') counts.removals += 1;
  if (gone && retirementOf(now)?.cause === 'drifted') counts.drifts += 1;
  if (gone && retirementOf(now)?.cause === 'unhealthy') counts.repairs += 1;
  if (gone || cause !== 'underutilized' || isDeleted(now)) return;
  if (retirementOf(now) === undefined) counts.givenBack += 1;
}

/** Counts from now on. The result tells how far it has come. */
export function tallied(stage: StoryStage): () => Tally {
  const counts: Counts = { ...noTally };
  const holders = new Map<string, string>();
  stage.store.subscribe(({ table, kind, object, before }) => {
    if (table === 'nodes') countNode(counts, object, before, kind === 'deleted');
    if (table === 'nodeclaims.karpenter.sh' && kind === 'added')
      if (object.metadata.annotations?.[annotations.maxPricePerHour] !== undefined)
        counts.replacements += 1;
    if (isDisruption(table) && kind === 'added')
      if ((object['spec'] as { nodesOut: readonly unknown[] }).nodesOut.length > 1)
        counts.joint += 1;
    if (table !== 'leases.coordination.k8s.io' || kind === 'deleted') return;
    const { holderIdentity = '' } = object['spec'] as { readonly holderIdentity?: string };
    const last = holders.get(object.metadata.name);
    if (last !== undefined && holderIdentity !== '' && holderIdentity !== last)
      counts.takeOvers += 1;
    if (holderIdentity !== '') holders.set(object.metadata.name, holderIdentity);
  });
  return () => ({ ...counts });
}
