import { type KubeApi, kubeResources, Stopper } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { ReaperStage } from './testing/reaper-stage.js';

const writes = new Set<PropertyKey>(['create', 'patch', 'replace', 'delete', 'evict']);
const { plural: events } = kubeResources.events;

/** An API server that tells of every write but Events, as the writer makes it. */
const telling = (kube: KubeApi, told: () => void): KubeApi =>
  new Proxy(kube, {
    get: (target, name) => {
      const method = target[name as keyof KubeApi] as (...given: unknown[]) => unknown;
      return (...given: unknown[]) => {
        const isEvent = (given[0] as { readonly plural?: string } | undefined)?.plural === events;
        if (writes.has(name) && !isEvent) told();
        return method.apply(target, given);
      };
    },
  });

/** Plays the end of two empty nodes and a Spot notice. Answers the writes to cluster and EC2. */
async function writesOf(lastWrite: number): Promise<number> {
  const cluster = await new ReaperStage().begin();
  const office = new Stopper();
  let made = 0;
  const told = (): void => {
    made += 1;
    if (made === lastWrite) office.abort();
  };
  await cluster.nodePool('default', {
    consolidationPolicy: 'WhenEmpty',
    consolidateAfter: '1s',
    budgets: [{ nodes: '100%' }],
  });
  await cluster.node('n1');
  await cluster.node('n2');
  const { instanceId } = await cluster.node('n3', { capacityType: 'spot' });
  await cluster.scale('web', 1);
  const { cloud } = cluster;
  cluster.reaper({
    office,
    kube: telling(cluster.kube, told),
    cloud: {
      instancesById: (ids) => cloud.instancesById(ids),
      instancesByTag: (filters) => cloud.instancesByTag(filters),
      impairedInstances: () => cloud.impairedInstances(),
      identity: () => cloud.identity(),
      terminate: (ids) => {
        told();
        return cloud.terminate(ids);
      },
    },
  });
  await cluster.pass(3);
  cluster.twin.notify({ kind: 'spot-interruption', instanceId });
  await cluster.pass(60);
  cluster.end();
  return made;
}

test('a leader that lost its Lease writes nothing more, between any two writes', async () => {
  const all = await writesOf(Infinity);
  expect(all).toBeGreaterThan(20);
  for (let last = 1; last <= all; last += 1) expect(await writesOf(last)).toBe(last);
});
