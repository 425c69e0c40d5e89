import { kubeResources } from '@dovetail/core-ports';

import type { StoryStage } from '../story-stage.js';
import { claimsOn, instanceOfClaim, instanceOfNode, nodesOn, podsOn } from './facts.js';

/** The laws that hold some time after the last fault. Returns a line for each breach. */
export function breachesAtRest(stage: StoryStage): readonly string[] {
  return [...strandedPods(stage), ...unpaired(stage), ...unfinished(stage), ...openCommands(stage)];
}

function strandedPods(stage: StoryStage): readonly string[] {
  const standing = new Set(nodesOn(stage).map(({ metadata }) => metadata.name));
  return podsOn(stage).flatMap(({ metadata, spec, status }) => {
    const on = spec?.nodeName;
    if (status?.phase === 'Running' && on !== undefined && standing.has(on)) return [];
    return [`pod ${metadata.name} is ${status?.phase ?? 'new'} on ${on ?? 'no node'}`];
  });
}

/** A drain takes seconds here, and EC2 ends an instance within a minute. */
const endMsMax = 600_000;

/** Claims whose end began long ago and has not come. */
function unfinished(stage: StoryStage): readonly string[] {
  const nowMs = stage.clock.nowMs();
  return claimsOn(stage).flatMap(({ metadata: { name, deletionTimestamp } }) =>
    deletionTimestamp !== undefined && nowMs - Date.parse(deletionTimestamp) > endMsMax
      ? [`claim ${name} is still ending, since ${deletionTimestamp}`]
      : [],
  );
}

/**
 * A command waits ten minutes, and its nodes drain after that. Its resource stays for an hour more,
 * for people to read.
 */
const commandMs = { openMax: 1_500_000, keptMax: 3_600_000 + 60_000 };

/** Commands that began long ago and are not over, and those that are kept for too long. */
function openCommands(stage: StoryStage): readonly string[] {
  const nowMs = stage.clock.nowMs();
  return stage.list(kubeResources.disruptions).flatMap((command) => {
    const { name, creationTimestamp = '' } = command.metadata;
    const { endedAt } = (command['status'] ?? {}) as { readonly endedAt?: string };
    const [sinceAt, limitMs] =
      endedAt === undefined ? [creationTimestamp, commandMs.openMax] : [endedAt, commandMs.keptMax];
    const state = endedAt === undefined ? 'is still open' : 'is still kept';
    return nowMs - Date.parse(sinceAt) > limitMs
      ? [`command ${name} ${state}, since ${sinceAt}`]
      : [];
  });
}

/** Instances, claims and nodes are pairs of three. */
function unpaired(stage: StoryStage): readonly string[] {
  const claims = new Set(claimsOn(stage).map(instanceOfClaim));
  const joined = new Set(nodesOn(stage).map(instanceOfNode));
  const running = new Set(stage.runningInstances());
  const not = (ids: Iterable<string>, others: ReadonlySet<string>, what: string) =>
    [...ids].filter((id) => !others.has(id)).map((id) => `${what} ${id}`);
  return [
    ...not(running, claims, 'no claim has instance'),
    ...not(claims, running, 'a claim has no running instance:'),
    ...not(joined, running, 'a node has no running instance:'),
    ...not(running, joined, 'no node has instance'),
  ];
}
