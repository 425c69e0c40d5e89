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

/** At no moment are more nodes of a pool given up for its own sake than its budget says. */
const poolBudgetsHold: Law = ({ stage, tell }) => {
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== 'nodes' || before === undefined) return;
    if (!isVoluntary(object) || isVoluntary(before)) return;
    const pool = poolOf(object);
    const budget = poolNamed(stage, pool)?.spec?.disruption?.budgets?.[0]?.nodes ?? '100%';
    if (budget.endsWith('%')) return;
    const running = new Set(stage.runningInstances());
    const going = nodesOn(stage).filter(
      (node) => poolOf(node) === pool && isVoluntary(node) && running.has(instanceOfNode(node)),
    );
    if (going.length > Number(budget))
      tell(`${String(going.length)} nodes of ${pool} go, and its budget allows ${budget}`);
  });
};

/** Watches show a changed pool within this time, and a paused launcher is deposed by then. */
const knownAfterMs = 60_000;

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
  const changedMs = new Map<string, number>();
  stage.store.subscribe(({ table, kind, object, before }) => {
    if (table === 'nodepools.karpenter.sh' && kind === 'modified') {
      const [now, was] = [object as NodePool, before as NodePool];
      if (now.spec?.limits?.cpu !== was.spec?.limits?.cpu)
        changedMs.set(object.metadata.name, stage.clock.nowMs());
    }
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

/** Laws that hold for pools at every moment. */
export const lawsOfPools: readonly Law[] = [poolBudgetsHold, limitsHold];
