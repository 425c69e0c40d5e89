import { followState } from '@dovetail/contracts';
import { annotations, parsePromise } from '@dovetail/core-api';
import { movedHereAnnotation } from '@dovetail/core-disruption';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import { msOf } from '../fault-commands.js';
import type { StoryStage } from '../story-stage.js';
import {
  claimsOn,
  instanceOfClaim,
  instanceOfNode,
  isDeleted,
  type Node,
  nodesOn,
  type Pod,
  poolOf,
  retirementOf,
  stayingPods,
} from './facts.js';
import { highestPriceOf, lowestPriceOf } from './prices-seen.js';
import type { Law } from './watchman.js';

const claimTable = 'nodeclaims.karpenter.sh';

type NodePool = KubeObject & {
  readonly spec?: { readonly disruption?: { readonly consolidateAfter?: string } };
};

/** The words of the reaper, on a claim, about pods that it moves to its node. */
const markOf = (claim: KubeObject | undefined): string | undefined =>
  claim?.metadata.annotations?.[movedHereAnnotation];

/** How long a node of the pool is to be left alone after a pod came or went. */
function restMsOf(stage: StoryStage, pool: string): number {
  const held = stage.find(kubeResources.nodePools, pool) as NodePool | undefined;
  return msOf(held?.spec?.disruption?.consolidateAfter ?? '0s');
}

/** When pods came to each node or went, in milliseconds since 1970. */
function podEventsOn(stage: StoryStage): ReadonlyMap<string, readonly number[]> {
  const events = new Map<string, readonly number[]>();
  stage.store.subscribe(({ table, kind, object, before }) => {
    if (table !== 'pods') return;
    const nodeName = (object as Pod).spec?.nodeName;
    const isBound = (before as Pod | undefined)?.spec?.nodeName !== nodeName;
    if (nodeName === undefined || (kind === 'modified' && !isBound)) return;
    events.set(nodeName, [...(events.get(nodeName) ?? []), stage.clock.nowMs()]);
  });
  return events;
}

/** A reaper hears of a pod so late at most, and leaves an event that is so close to the last. */
const eventSlackMs = { late: 12_000, early: 12_000 };

/** No command moves pods to a node on which pods came or went a moment ago. */
const destinationsHaveSettled: Law = ({ stage, tell }) => {
  const events = podEventsOn(stage);
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== claimTable || before === undefined) return;
    if (markOf(object) === undefined || markOf(object) === markOf(before)) return;
    const node = nodesOn(stage).find((each) => instanceOfNode(each) === instanceOfClaim(object));
    const [nowMs, name] = [stage.clock.nowMs(), node?.metadata.name ?? ''];
    if (stage.wasTroubled('reaper', nowMs - troubleMs)) return;
    const restMs = restMsOf(stage, poolOf(object)) - eventSlackMs.early;
    const ages = (events.get(name) ?? []).map((atMs) => nowMs - atMs);
    const age = ages.find((each) => each > eventSlackMs.late && each < restMs);
    if (age !== undefined) tell(`pods are to move to ${name}, where one came ${seconds(age)} ago`);
  });
};

/** Watches that stood still, and a reaper that took over, know the present after so long. */
const troubleMs = 120_000;
const seconds = (ms: number): string => `${String(Math.floor(ms / 1_000))} s`;

/** Removals of nodes that moved pods to another, and not bought one: what all saved, and cost. */
type Received = { readonly atMs: number; readonly saved: number; readonly cost: number };

/** Pods that were moved for money are left alone for so long, save a clock that is a little off. */
const movePauseMs = 1_800_000 - 60_000;

/** A node to which pods go, and whether the reaper has written down that it moves pods there. */
type Destination = { readonly name: string; readonly isMarked: boolean };

/** The nodes to which the successors of these pods go. */
function destinationsOf(stage: StoryStage, pods: readonly Pod[]): readonly Destination[] {
  const uids = new Set(pods.map(({ metadata }) => metadata.uid ?? ''));
  const takes = ({ metadata }: KubeObject): boolean =>
    (parsePromise(metadata.annotations?.[annotations.promise])?.forPodUids ?? []).some((uid) =>
      uids.has(uid),
    );
  const claims = claimsOn(stage);
  const claimOf = (node: Node): KubeObject | undefined =>
    claims.find((claim) => instanceOfClaim(claim) === instanceOfNode(node));
  const nodes = nodesOn(stage).filter((node) => [node, claimOf(node) ?? node].some(takes));
  return nodes.map((node) => ({
    name: node.metadata.name,
    isMarked: markOf(claimOf(node)) !== undefined,
  }));
}

/** The marks of a command come so long before its first taint at most. */
const marksMs = 5_000;

/** Whether a node goes for money by itself, and nothing is bought for its pods. */
const isRemoved = (node: Node): boolean => {
  const retirement = retirementOf(node);
  return retirement?.cause === 'underutilized' && retirement.disruption === undefined;
};

/**
 * Pods that were moved for money are moved again soon only if that pays for both moves: the saving
 * for each pod, with the pods of both counted, is not below that of the first. A pod whose room was
 * refused goes elsewhere than its command has said, and is not judged.
 */
const movedPodsRest: Law = ({ stage, tell }) => {
  const received = new Map<string, Received>();
  const costOf = ({ metadata }: Node): number => 1 + stayingPods(stage, metadata.name).length;
  const begun = new Map<string, Received & { readonly marksAny: boolean }>();
  let markedMs = -Infinity;
  const arrived = ({ metadata }: Node): void => {
    const move = begun.get(metadata.name);
    if (move === undefined) return;
    for (const { name, isMarked } of destinationsOf(stage, stayingPods(stage, metadata.name))) {
      if (!isMarked && move.marksAny) continue;
      const last = received.get(name) ?? { saved: 0, cost: 0 };
      const [saved, cost] = [last.saved + move.saved, last.cost + move.cost];
      received.set(name, { ...move, saved, cost });
    }
  };
  const judge = (node: Node): void => {
    const { name } = node.metadata;
    const [atMs, cost] = [stage.clock.nowMs(), costOf(node)];
    const marksAny = atMs - markedMs < marksMs;
    begun.set(name, { atMs, saved: lowestPriceOf(stage, instanceOfNode(node)), cost, marksAny });
    const last = received.get(name);
    const age = atMs - (last?.atMs ?? -Infinity);
    if (last === undefined || age > movePauseMs) return void received.delete(name);
    const score = highestPriceOf(stage, instanceOfNode(node)) / (cost + last.cost);
    if (score < last.saved / last.cost)
      tell(`${name} goes, and pods were moved there for money ${seconds(age)} ago`);
  };
  stage.store.subscribe(({ table, object, before }) => {
    if (before === undefined) return;
    if (table === claimTable && markOf(object) !== markOf(before)) markedMs = stage.clock.nowMs();
    if (table === 'nodes' && isRemoved(object) && !isRemoved(before)) judge(object);
    if (table !== claimTable || !isDeleted(object) || isDeleted(before)) return;
    const node = nodesOn(stage).find((each) => instanceOfNode(each) === instanceOfClaim(object));
    if (node !== undefined && isRemoved(node)) arrived(node);
  });
};

/**
 * The launcher admits the whole plan of a command or nothing of it. It cannot take a claim back
 * that the API server has taken before it failed: the reaper does, with the command.
 */
const commandsAreAdmittedWhole: Law = ({ stage, tell }) => {
  const outcomes = new Map<string, Set<string>>();
  const isOfCommand = (planId: string): boolean =>
    stage
      .list(kubeResources.disruptions)
      .some((command) => (command['spec'] as { readonly planID?: string }).planID === planId);
  const follow = async (): Promise<void> => {
    const events = followState(stage.channel, stage.stop.signal, { kinds: ['verdict'] });
    for await (const event of events) {
      if (event.kind !== 'record' || event.record.kind !== 'set') continue;
      const { state } = event.record;
      if (state.kind !== 'verdict') continue;
      const { planId, outcome, reasons } = state.value;
      if (reasons.some(({ code }) => code === 'admission-failed')) continue;
      const seen = (outcomes.get(planId) ?? new Set<string>()).add(outcome);
      outcomes.set(planId, seen);
      if (seen.has('admitted') && seen.has('refused') && isOfCommand(planId))
        tell(`of the plan ${planId} of a command, only a part was admitted`);
    }
  };
  void follow();
};

/** Laws that hold at every moment for pods that commands move. */
export const lawsOfMoves: readonly Law[] = [
  destinationsHaveSettled,
  movedPodsRest,
  commandsAreAdmittedWhole,
];
