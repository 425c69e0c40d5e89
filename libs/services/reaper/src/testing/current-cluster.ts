import { type Decision, followDecisions } from '@dovetail/contracts';
import { annotations } from '@dovetail/core-api';
import { parseRetirement, type Retirement } from '@dovetail/core-disruption';
import { kubeResources, Stopper } from '@dovetail/core-ports';
import { onTestFinished } from 'vitest';

import { type ReaperOptions, ReaperStage, type RunningReaper } from './reaper-stage.js';
import { Replacements } from './replacements.js';

const { nodeClaims, nodes } = kubeResources;
/** The cluster of the test that runs: `started` makes it, and it ends with the test. */
export let cluster: ReaperStage;
export const stops: (() => void)[] = [];

/** Begins a cluster with the NodePool `default`, which disrupts like this. */
export async function started(
  disruption: object = {
    consolidationPolicy: 'WhenEmpty',
    consolidateAfter: '30s',
    budgets: [{ nodes: '100%' }],
  },
): Promise<ReaperStage> {
  const begun = await new ReaperStage().begin();
  onTestFinished(() => {
    for (const stop of stops.splice(0)) stop();
    begun.end();
  });
  cluster = begun;
  await cluster.nodePool('default', disruption);
  return cluster;
}

/** Starts a reaper that ends with the test. */
export function reap(options: ReaperOptions = {}): RunningReaper {
  const running = cluster.reaper(options);
  stops.push(() => running.stop.abort());
  return running;
}

/** Answers the reaper's requests for plans until the test ends. */
export function replacements(options: ConstructorParameters<typeof Replacements>[1]): Replacements {
  const made = new Replacements(cluster, options);
  stops.push(() => made.stop());
  return made;
}

/** All decisions on the bus, in order. */
export async function decisions(): Promise<readonly Decision[]> {
  const stop = new Stopper();
  const found: Decision[] = [];
  for await (const event of followDecisions(cluster.channel, stop)) {
    if (event.kind === 'decision') found.push(event.decision);
    if (event.kind === 'caught-up') break;
  }
  stop.abort();
  return found;
}

export const gone = (claim: string) => () => !cluster.names(nodeClaims).includes(claim);
/** Throws if the claim is gone: a test that expects it to stay must not pass then. */
export function isDeleting(claim: string): boolean {
  const found = cluster.find(nodeClaims, claim);
  if (found === undefined) throw new Error(`${claim} is gone`);
  return found.metadata.deletionTimestamp !== undefined;
}
export const stateOf = (id: string): string => cluster.twin.instances.get(id).state;
export const tainted = (name: string): boolean =>
  JSON.stringify(cluster.find(nodes, name)?.['spec'] ?? '').includes('karpenter.sh/disrupted');

/** The retirement that the node's annotation holds. */
export const retirementOn = (name: string): Retirement | undefined =>
  parseRetirement(cluster.find(nodes, name)?.metadata.annotations?.[annotations.retirement]);

/** The time by which the claim's node must be gone, in milliseconds; NaN without one. */
export const deadlineOf = (claim: string): number =>
  Date.parse(
    cluster.find(nodeClaims, claim)?.metadata.annotations?.[annotations.terminationTimestamp] ?? '',
  );
