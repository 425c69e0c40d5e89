import { afterEach } from '@jest/globals';
import { followDecisions } from '@dovetail/contracts';
import { kubeResources, Stopper } from '@dovetail/core-ports';
import { memoryBus } from '@dovetail/sim-bus';
import { clusterName, TestCluster } from './cluster.js';
import { Replacements } from './replacements.js';

const { nodeClaims, nodes } = kubeResources;
/** The cluster of the test that runs: `started` makes it, and its end comes with the test's. */
export let cluster: TestCluster;
export const stops: (() => void)[] = [];
afterEach(() => { for (const stop of stops.splice(0)) stop(); cluster.stop(); });

export async function started(disruption: object = { consolidationPolicy: 'WhenEmpty', consolidateAfter: '30s', budgets: [{ nodes: '100%' }] }): Promise<TestCluster> {
  cluster = new TestCluster();
  await cluster.start();
  await cluster.nodePool('default', disruption);
  return cluster;
}
export function reap(options: Parameters<TestCluster['reaper']>[0] = {}) {
  const running = cluster.reaper(options);
  stops.push(() => running.stop.abort());
  return running;
}
export function replacements(options: ConstructorParameters<typeof Replacements>[1]): Replacements {
  const made = new Replacements(cluster, options);
  stops.push(() => made.stop());
  return made;
}
/** The kinds of all decisions on the bus, in order. */
export async function decisions(): Promise<readonly { readonly kind: string; readonly summary: string; readonly facts: Readonly<Record<string, string>> }[]> {
  const stop = new Stopper();
  const found = [];
  for await (const event of followDecisions({ bus: memoryBus(cluster.busServer), cluster: clusterName, hash: { sha256Hex: (text) => text } }, stop)) {
    if (event.kind === 'decision') found.push(event.decision);
    if (event.kind === 'caught-up') break;
  }
  stop.abort();
  return found;
}
export const gone = (claim: string) => () => !cluster.names(nodeClaims).includes(claim);
export const isDeleting = (claim: string) => cluster.find(nodeClaims, claim)?.metadata.deletionTimestamp !== undefined;
export const stateOf = (id: string) => cluster.twin.instances.get(id).state;
export const tainted = (name: string) => JSON.stringify(cluster.find(nodes, name)?.['spec'] ?? '').includes('karpenter.sh/disrupted');
