import { annotations, labels, parsePromise } from '@dovetail/core-api';
import { isBoughtByCommand } from '@dovetail/core-disruption';
import { isTerminal, podOf } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';

import { agentConditions } from '../health-commands.js';
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
  podsOn,
  poolOf,
  retirementOf,
  stayingPods,
} from './facts.js';
import type { Law } from './watchman.js';

/** Watches and EC2's answers show by then that something is broken. */
const knownAfterMs = 60_000;
/** EC2's checks count once they have failed for two minutes. */
const toleratedMs = 120_000;
/** Nothing goes for its health while more than this share of its pool is unhealthy, rounded up. */
const unhealthyShare = 0.2;

const checks: ReadonlySet<string> = new Set(['instance_status', 'system_status']);

/** Whether the node goes because it, or its machine, is unhealthy. */
export const goesForHealth = (node: KubeObject): boolean => {
  const { cause, detail = '' } = retirementOf(node) ?? {};
  return cause === 'unhealthy' || (cause === 'interrupted' && checks.has(detail));
};

/** Whether every service can know that the node is broken. */
function isBroken(stage: StoryStage, node: Node): boolean {
  const nowMs = stage.clock.nowMs();
  const byAgent = (node.status?.conditions ?? []).some(
    ({ type, status, lastTransitionTime = '' }) =>
      status === 'False' &&
      agentConditions.some((each) => each === type) &&
      Date.parse(lastTransitionTime) + knownAfterMs <= nowMs,
  );
  const id = instanceOfNode(node);
  if (byAgent || !stage.runningInstances().includes(id)) return byAgent;
  const { instance, sinceMs } = stage.twin.instances.get(id).health;
  return instance === 'impaired' && sinceMs + toleratedMs + knownAfterMs <= nowMs;
}

/** An error that hits many nodes of a pool is in no single one, so none of them goes for it. */
const repairIsBraked: Law = ({ stage, tell }) => {
  stage.store.subscribe(({ table, object, before }) => {
    if (table !== 'nodes' || before === undefined) return;
    if (!goesForHealth(object) || goesForHealth(before)) return;
    const pool = poolOf(object);
    const nodes = nodesOn(stage).filter((node) => poolOf(node) === pool);
    const broken = nodes.filter((node) => isBroken(stage, node)).length;
    if (broken <= Math.ceil(unhealthyShare * nodes.length)) return;
    const all = `${String(broken)} of ${String(nodes.length)} nodes of ${pool} are unhealthy`;
    tell(`${all}, and ${object.metadata.name} is to go for that`);
  });
};

/** So long may a node stand that a command bought and that nothing needs. */
const inVainSeconds = 1_200;

/**
 * Whether a command bought the claim for nodes that all stay after all, and no pod has come or is
 * to come to its own.
 */
function isInVain(stage: StoryStage, claim: Claim, nodes: readonly Node[]): boolean {
  const held = claim.metadata.annotations ?? {};
  const { replaces, podUids = [] } = parsePromise(held[annotations.promise]) ?? {};
  if (!isBoughtByCommand({ annotations: held }) || replaces === undefined) return false;
  if (isDeleted(claim) || isCopy(claim.metadata.name)) return false;
  const replaced = nodes.find(({ metadata }) => metadata.uid === replaces.nodeUid);
  if (replaced === undefined || isDeleted(replaced)) return false;
  if (retirementOf(replaced) !== undefined) return false;
  const node = nodes.find((each) => instanceOfNode(each) === namedInstance(claim));
  if (node?.metadata.labels?.[labels.initialized] !== 'true') return false;
  const waits = podsOn(stage).some(
    (pod) => podUids.includes(pod.metadata.uid ?? '') && pod.spec?.nodeName === undefined,
  );
  return !waits && !hasPods(stage, node);
}

const hasPods = (stage: StoryStage, { metadata: { name } }: Node): boolean =>
  stayingPods(stage, name).some((pod) => {
    const read = podOf(pod);
    return read.ok && !isTerminal(read.value);
  });

/** A node that a command bought in vain ends again. */
const noneBoughtInVain: Law = ({ stage, tell }) => {
  const since = new Map<string, number>();
  return () => {
    const nodes = nodesOn(stage);
    const inVain = claimsOn(stage).filter((claim) => isInVain(stage, claim, nodes));
    const names = new Set(inVain.map(({ metadata }) => metadata.name));
    for (const name of [...since.keys()]) if (!names.has(name)) since.delete(name);
    for (const name of names) {
      const at = since.get(name) ?? stage.seconds();
      since.set(name, at);
      if (stage.seconds() - at <= inVainSeconds) continue;
      if (stage.wasTroubled('reaper', stage.clock.nowMs() - inVainSeconds * 1_000)) continue;
      tell(`${name} was bought for a node that stays, and stands with no pods`);
      since.set(name, Infinity);
    }
  };
};

/** Laws about what breaks, and about what is bought and not needed. */
export const lawsOfHealth: readonly Law[] = [repairIsBraked, noneBoughtInVain];
