import { labels } from '@dovetail/core-api';
import type { RetirementCause } from '@dovetail/core-disruption';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import type { StoryStage } from '../story-stage.js';
import { isCopy } from '../user-commands.js';
import {
  type Claim,
  claimsOn,
  instanceOfNode,
  isDeleted,
  namedInstance,
  type Node,
  nodesOn,
  poolOf,
  retirementOf,
} from './facts.js';
import type { Law } from './watchman.js';

type NodePool = KubeObject & {
  readonly spec?: {
    readonly limits?: { readonly cpu?: string };
    readonly disruption?: { readonly budgets?: readonly { readonly nodes?: string }[] };
  };
};

const poolNamed = (stage: StoryStage, name: string): NodePool | undefined =>
  stage.find(kubeResources.nodePools, name);

/** Causes that obey the pools' disruption budgets. */
const voluntary: ReadonlySet<RetirementCause> = new Set(['empty', 'drifted', 'underutilized']);

const isVoluntary = (node: KubeObject): boolean => {
  const cause = retirementOf(node)?.cause;
  return cause !== undefined && voluntary.has(cause);
};

/** Watches show a changed pool within this time, and a paused launcher is deposed by then. */
const knownAfterMs = 60_000;

/** The nodes of each pool, and when there were so many. */
type Sizes = Map<string, readonly { readonly atMs: number; readonly nodes: number }[]>;

/** How many nodes a budget allows to go of so many. Percentages are rounded up. */
const allowedBy = (budget: string, nodes: number): number =>
  budget.endsWith('%') ? Math.ceil((Number.parseFloat(budget) * nodes) / 100) : Number(budget);

/** The most nodes that the pool had since then. */
function mostSince(sizes: Sizes, pool: string, sinceMs: number): number {
  const seen = sizes.get(pool) ?? [];
  const last = seen.findLastIndex(({ atMs }) => atMs <= sinceMs);
  return Math.max(0, ...seen.slice(Math.max(0, last)).map(({ nodes }) => nodes));
}

/** Counts the nodes of each pool as they come and go. */
function sizesOn(stage: StoryStage): Sizes {
  const sizes: Sizes = new Map();
  stage.store.subscribe(({ table, kind, object }) => {
    if (table !== 'nodes' || kind === 'modified') return;
    const pool = poolOf(object);
    const nodes = nodesOn(stage).filter((node) => poolOf(node) === pool).length;
    sizes.set(pool, [...(sizes.get(pool) ?? []), { atMs: stage.clock.nowMs(), nodes }]);
  });
  return sizes;
}

/** When the value of each pool changed last. */
function changesOf(stage: StoryStage, valueOf: (pool: NodePool) => unknown): Map<string, number> {
  const changedMs = new Map<string, number>();
  stage.store.subscribe(({ table, kind, object, before }) => {
    if (table !== 'nodepools.karpenter.sh' || kind !== 'modified') return;
    if (JSON.stringify(valueOf(object)) !== JSON.stringify(valueOf(before as NodePool)))
      changedMs.set(object.metadata.name, stage.clock.nowMs());
  });
  return changedMs;
}

/** At no moment are more nodes of a pool given up for its own sake than its budget says. */
const poolBudgetsHold: Law = ({ stage, tell }) => {
  const sizes = sizesOn(stage);
  const changedMs = changesOf(stage, ({ spec }) => spec?.disruption?.budgets);
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== 'nodes' || before === undefined) return;
    if (!isVoluntary(object) || isVoluntary(before)) return;
    const pool = poolOf(object);
    const sinceMs = stage.clock.nowMs() - knownAfterMs;
    if ((changedMs.get(pool) ?? 0) > sinceMs) return;
    const budget = poolNamed(stage, pool)?.spec?.disruption?.budgets?.[0]?.nodes ?? '100%';
    const allowed = allowedBy(budget, mostSince(sizes, pool, sinceMs));
    const running = new Set(stage.runningInstances());
    const going = nodesOn(stage).filter(
      (node) => poolOf(node) === pool && isVoluntary(node) && running.has(instanceOfNode(node)),
    );
    if (going.length > allowed)
      tell(`${String(going.length)} nodes of ${pool} go, and its budget allows ${budget}`);
  });
};

const isRetiring = (stage: StoryStage, claim: Claim, nodes: readonly Node[]): boolean => {
  const id = namedInstance(claim);
  const node = nodes.find((each) => id !== '' && instanceOfNode(each) === id);
  return (
    isDeleted(claim) ||
    (node !== undefined && (isDeleted(node) || retirementOf(node) !== undefined))
  );
};

/** The vCPUs that a claim has, or is to get at least. */
function vcpusOf(stage: StoryStage, claim: Claim): number {
  const paired = claim.metadata.labels?.[labels.instanceType];
  const options = claim.spec?.requirements?.find(({ key }) => key === labels.instanceType)?.values;
  const types = paired === undefined ? (options ?? []) : [paired];
  const counts = types.map((type) => stage.twin.types.get(type)?.facts.vcpus ?? 0);
  return counts.length === 0 ? 0 : Math.min(...counts);
}

/** No claim is made beyond the limits of its pool. Nodes that are being retired do not count. */
const limitsHold: Law = ({ stage, tell }) => {
  const changedMs = changesOf(stage, ({ spec }) => spec?.limits?.cpu);
  stage.store.subscribe(({ table, kind, object }) => {
    const isMade = table === 'nodeclaims.karpenter.sh' && kind === 'added';
    if (!isMade || isCopy(object.metadata.name)) return;
    const pool = poolOf(object);
    const cpu = poolNamed(stage, pool)?.spec?.limits?.cpu;
    const sinceMs = stage.clock.nowMs() - knownAfterMs;
    if (cpu === undefined || (changedMs.get(pool) ?? 0) > sinceMs) return;
    if (stage.wasTroubled('launcher', sinceMs)) return;
    const nodes = nodesOn(stage);
    const used = claimsOn(stage)
      .filter(
        (claim) =>
          poolOf(claim) === pool &&
          !isCopy(claim.metadata.name) &&
          !isRetiring(stage, claim, nodes),
      )
      .reduce((sum, claim) => sum + vcpusOf(stage, claim), 0);
    if (used > Number(cpu))
      tell(`${object.metadata.name} takes ${pool} to ${String(used)} CPUs, its limit is ${cpu}`);
  });
};

/** So many nodes of a pool may be replaced at once because they expired: the more of both. */
const expiries = { share: 0.1, always: 5 };

const isExpiring = (node: KubeObject): boolean => retirementOf(node)?.cause === 'expired';

/** Nodes of one scale-up expire together, and are not replaced together. */
const expiriesArePaced: Law = ({ stage, tell }) => {
  const sizes = sizesOn(stage);
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== 'nodes' || before === undefined) return;
    if (!isExpiring(object) || isExpiring(before)) return;
    const pool = poolOf(object);
    const most = mostSince(sizes, pool, stage.clock.nowMs() - knownAfterMs);
    const going = nodesOn(stage).filter((node) => poolOf(node) === pool && isExpiring(node));
    if (going.length > Math.max(expiries.always, Math.floor(expiries.share * most)))
      tell(`${String(going.length)} of ${String(most)} nodes of ${pool} are to go by age at once`);
  });
};

/** Laws that hold for pools at every moment. */
export const lawsOfPools: readonly Law[] = [poolBudgetsHold, limitsHold, expiriesArePaced];
