import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createAwsCloud } from '@dovetail/adapter-aws';
import { systemClock } from '@dovetail/runtime';
import { addForeignNode, events, instances, labelOf, nodes, ourNodes, pods, untilNothingLeft, untilRunning } from '../support/cluster.js';
import { eventually, openWorld, type TestWorld, worlds } from '../support/world.js';

const types = ['m5.large', 'm5a.large', 'm5.xlarge', 'm6i.large', 'c5.xlarge'];
/** Pods of 700m CPU that fit a type of two or four vCPU beside its reservations (70m, 80m); memory never binds first. */
const podsPer: Readonly<Record<string, number>> = { 'm5.large': 2, 'm5a.large': 2, 'm6i.large': 2, 'm5.xlarge': 5, 'c5.xlarge': 5 };

/** The least that six pods can cost, by trying every number of each type. */
function leastPrice(price: Readonly<Record<string, number>>): number {
  let best = Number.POSITIVE_INFINITY;
  const extend = (index: number, capacity: number, cost: number): void => {
    if (capacity >= 6) best = Math.min(best, cost);
    const type = types[index];
    if (type === undefined || capacity >= 6) return;
    for (let count = 0; count <= 3; count += 1) extend(index + 1, capacity + count * (podsPer[type] ?? 0), cost + count * (price[type] ?? Number.POSITIVE_INFINITY));
  };
  extend(0, 0, 0);
  return best;
}

describe.each(await worlds())('scenario spot-type-list on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world, region: 'us-east-1', zones: ['us-east-1a', 'us-east-1b', 'us-east-1c'] });
    for (const name of ['core-1', 'core-2']) await addForeignNode(at, { name, labels: { 'node-type': 'core', 'topology.kubernetes.io/zone': 'us-east-1a' } });
    await at.applyScenario('spot-type-list');
  });
  afterAll(async () => at?.close());

  test('only listed types, only spot, for the least price that the list allows; all six pods run on workers', async () => {
    const running = await untilRunning(at, 'default', 6);
    const ours = await ourNodes(at);
    const names = new Set(ours.map((node) => node.metadata.name));
    for (const pod of running) expect(names).toContain(pod.spec.nodeName);
    for (const node of ours) {
      expect(node.metadata.labels).toMatchObject({ 'karpenter.sh/capacity-type': 'spot', 'node-type': 'worker' });
      expect(types).toContain(labelOf(node, 'node.kubernetes.io/instance-type'));
    }
    const aws = createAwsCloud({ region: 'us-east-1', endpoint: at.lab.cloudUrl, credentials: { accessKeyId: 'test', secretAccessKey: 'test' }, clock: systemClock });
    const quotes = await aws.spotPrices();
    aws.close();
    const cheapest = Object.fromEntries(types.map((type) => [type, Math.min(...quotes.filter((quote) => quote.instanceType === type && /us-east-1[abc]$/.test(quote.zone ?? '')).map((quote) => quote.priceMicrosPerHour))]));
    const paid = (await instances(at)).reduce((sum, instance) => sum + (quotes.find((quote) => quote.instanceType === instance.instanceType && quote.zone === instance.zone)?.priceMicrosPerHour ?? 0), 0);
    expect(paid).toBe(leastPrice(cheapest));
  });

  test('with all listed types out of spot capacity pods wait with an event that names capacity, and run when it is back', async () => {
    for (const instanceType of types) await at.cloud('POST', 'capacity', { instanceType, capacityType: 'spot', free: 0 });
    await at.kubectl('scale', 'deployment/worker', '--replicas=12');
    await eventually('an event that names capacity', async () => (await events(at)).some((event) => event.involvedObject?.kind !== 'Node' && /capacity/i.test(`${event.reason} ${event.message}`)), 90_000);
    expect((await pods(at, 'default')).filter((pod) => pod.status?.phase === 'Pending').length).toBeGreaterThan(0);
    for (const instanceType of types) await at.cloud('POST', 'capacity', { instanceType, capacityType: 'spot', free: 'unlimited' });
    await at.lab.advanceClock(400_000);
    await untilRunning(at, 'default', 12, 120_000);
  });

  test('pods gone, nodes end 30 seconds after they are empty; base nodes stay', async () => {
    await at.kubectl('scale', 'deployment/worker', '--replicas=0');
    await eventually('no pods', async () => (await pods(at, 'default')).length === 0);
    await at.lab.advanceClock(31_000);
    await untilNothingLeft(at);
    expect((await nodes(at)).map((node) => node.metadata.name).toSorted()).toEqual(['core-1', 'core-2']);
  });
});
