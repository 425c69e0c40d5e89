import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { allocatableOf, catalogFor } from '@dovetail/core-ec2-model';
import { claims, events, instances, ourNodes, untilRunning } from '../support/cluster.js';
import { eventually, openWorld, type TestWorld, worlds } from '../support/world.js';

const region = 'us-west-2';
const gibibyte = 1024 ** 3;
const nodeClass = { amiFamily: 'AL2023', kubelet: {}, blockDeviceMappings: [] } as const;

/** On-demand c, m or r types above generation 4, amd64, that hold 5 GiB, cheapest first, from the catalog alone. */
const fitting = catalogFor(region)
  .filter(({ facts, onDemandPriceMicrosPerHour, zones }) => {
    const [, category, generation] = /^([a-z]+)(\d+)[^.]*\./.exec(facts.name) ?? [];
    return onDemandPriceMicrosPerHour !== undefined && zones.length > 0 && facts.arch === 'amd64' && ['c', 'm', 'r'].includes(category ?? '') && Number(generation) > 4
      && (allocatableOf(facts, nodeClass)['memory'] ?? 0) >= 5 * gibibyte;
  })
  .map(({ facts, onDemandPriceMicrosPerHour = 0 }) => ({ name: facts.name, price: onDemandPriceMicrosPerHour }))
  .toSorted((a, b) => a.price - b.price || (a.name < b.name ? -1 : 1));
const cheapest = fitting.filter((type) => type.price === fitting[0]?.price).map((type) => type.name);

describe.each(await worlds())('scenario inflate-memory on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world, region });
    await at.applyScenario('inflate-memory', ['namespace.yaml', 'nodepool.yaml']);
    await eventually('the pool to be ready', async () => (await at.kubectl('get', 'nodepool', 'general-purpose', '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')) === 'True');
    await at.applyScenario('inflate-memory', ['workload.yaml']);
  });
  afterAll(async () => at?.close());

  test('one node of the cheapest type that holds 5 GiB runs all five pods, and the rollout succeeds', async () => {
    expect(await at.kubectl('rollout', 'status', '-n', 'other', 'deployment/inflate', '--timeout=180s')).toMatch(/successfully rolled out/);
    await untilRunning(at, 'other', 5);
    expect(await ourNodes(at)).toHaveLength(1);
    const [instance] = await instances(at);
    expect(cheapest).toContain(instance?.instanceType);
    expect(instance?.capacityType).toBe('on-demand');
  });

  test('kubectl get nodeclaims -o wide has its columns, filled', async () => {
    await eventually('the claim to be ready', async () => /True/.test(await at.kubectl('get', 'nodeclaims.karpenter.sh')));
    const [head, row] = (await at.kubectl('get', 'nodeclaims.karpenter.sh', '-o', 'wide')).trim().split('\n');
    expect(head?.split(/\s{2,}/).map((column) => column.trim())).toEqual(['NAME', 'TYPE', 'CAPACITY', 'ZONE', 'NODE', 'READY', 'AGE', 'IMAGEID', 'ID', 'NODEPOOL', 'NODECLASS', 'DRIFTED']);
    const [instance] = await instances(at);
    for (const value of [instance?.instanceType, 'on-demand', instance?.zone, instance?.imageId, instance?.instanceId, 'True', 'general-purpose', 'default']) expect(row).toContain(value);
  });

  test('events show the conditions of the NodeClaim as transitions', async () => {
    const said = async (): Promise<string> => (await events(at)).filter((event) => event.involvedObject?.kind === 'NodeClaim').map((event) => `${event.reason} ${event.message}`).join('\n');
    for (const condition of ['Launched', 'Registered', 'Initialized', 'Ready']) await eventually(`an event ${condition}`, async () => new RegExp(`\\b${condition}\\b`).test(await said()));
    await eventually('DisruptionBlocked while there is no node', async () => (await events(at)).some((event) => event.reason === 'DisruptionBlocked'));
  });

  test('with that type out of capacity everywhere the next cheapest launches, and the first is not tried again for three minutes', async () => {
    for (const instanceType of cheapest) await at.cloud('POST', 'capacity', { instanceType, capacityType: 'on-demand', free: 0 });
    await at.kubectl('scale', '-n', 'other', 'deployment/inflate', '--replicas=10');
    await untilRunning(at, 'other', 10, 120_000);
    const launched = (await instances(at)).map((instance) => instance.instanceType);
    expect(launched.filter((type) => !cheapest.includes(type)).length).toBeGreaterThan(0);
    const claimsBefore = (await claims(at)).length;
    await at.kubectl('scale', '-n', 'other', 'deployment/inflate', '--replicas=15');
    await untilRunning(at, 'other', 15, 120_000);
    const launches = at.decisions.of('launch').slice(claimsBefore);
    for (const launch of launches) expect(cheapest).not.toContain(launch.instanceType);
  });
});
