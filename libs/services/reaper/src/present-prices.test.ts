import { publishClassCatalog } from '@dovetail/contracts';
import { annotations, labels } from '@dovetail/core-api';
import { offeringValue, plainTypeValue } from '@dovetail/core-ec2-model/testing';
import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  decisions,
  reap,
  replacements,
  started,
  tainted,
} from './testing/current-cluster.js';
import type { Replacements } from './testing/replacements.js';

const replacing = { config: { consolidation: 'replace' } } as const;
const cheaper = { afterMs: 0, priceMicrosPerHour: 60_000 } as const;

/** A node with two pods, and with this price in its claim's annotation, if any. */
async function launchedAt(price: string | undefined): Promise<void> {
  await started({
    consolidationPolicy: 'WhenEmptyOrUnderutilized',
    consolidateAfter: '5s',
    budgets: [{ nodes: '100%' }],
  });
  const claimAnnotations = price === undefined ? {} : { [annotations.pricePerHour]: price };
  await cluster.node('n1', { cpu: '2', claimAnnotations });
  await cluster.scale('web', 2);
  await cluster.pass(1);
}

/** The launcher publishes a catalog with this price of the node's type, in its zone or another. */
async function nowAt(priceMicrosPerHour: number, revision = '1', zone = ''): Promise<void> {
  const held = cluster.find(kubeResources.nodes, 'n1')?.metadata.labels ?? {};
  const type = plainTypeValue(held[labels.instanceType] ?? '', 2_000);
  const offering = offeringValue(
    zone || (held[labels.zone] ?? ''),
    'on-demand',
    priceMicrosPerHour,
  );
  await publishClassCatalog(
    cluster.channelOf('launcher'),
    { classUid: 'class', revision, instanceTypes: [{ ...type, offerings: [offering] }] },
    { generation: revision },
  );
}

describe('a node is judged by what it costs now', () => {
  test('so one whose price has fallen below that of a new one stays', async () => {
    await launchedAt('0.192000');
    await nowAt(50_000);
    const solver = replacements(cheaper);
    reap(replacing);
    await cluster.pass(60);
    expect([tainted('n1'), solver.plans]).toEqual([false, []]);
    // Solvers are asked for the cheapest place at any price, so that the Event can say this.
    expect(new Set(cluster.events('Unconsolidatable'))).toEqual(
      new Set(["Can't replace with a cheaper node"]),
    );
    expect(solver.requests.some((request) => 'maxPriceMicrosPerHour' in request)).toBe(false);
  });

  test.each([
    ['whose price has risen', '0.050000'],
    ['that another launcher made, without a price', undefined],
  ])('so one %s is replaced, below that price', async (_which, price) => {
    await launchedAt(price);
    await nowAt(192_000);
    const solver = replacements({ ...cheaper, admitsCommands: false });
    reap(replacing);
    expect(await cluster.pass(60, () => solver.plans.length === 1, 500)).toBe(true);
    await cluster.pass(2);
    expect(cluster.events('DisruptionLaunching')).toEqual(['Launching replacements for n1']);
    const [plan] = solver.plans;
    expect(plan?.cause).toMatchObject({ nodeName: 'n1', reason: 'underutilized' });
    const caps = plan?.plan.newNodes.flatMap(({ options }) =>
      options.map(({ priceMicrosPerHour }) => priceMicrosPerHour),
    );
    expect(Math.max(...(caps ?? [Infinity]))).toBeLessThan(192_000);
  });

  test('so one whose zone no class selects any more has no price, and its launch tells none', async () => {
    await launchedAt('9.999999');
    await nowAt(192_000, '1', 'us-west-2z');
    const solver = replacements(cheaper);
    reap(replacing);
    await cluster.pass(60);
    expect([tainted('n1'), solver.plans]).toEqual([false, []]);
  });

  test('and by the newest price, once the launcher has read prices again', async () => {
    await launchedAt('0.192000');
    await nowAt(50_000);
    const solver = replacements({ ...cheaper, admitsCommands: false });
    reap(replacing);
    await cluster.pass(60);
    expect(solver.plans).toEqual([]);
    await nowAt(192_000, '2');
    expect(await cluster.pass(30, () => solver.plans.length === 1, 1_000)).toBe(true);
  });
});

test('a decision about a node tells what it costs now', async () => {
  await launchedAt('0.192000');
  await nowAt(50_000);
  reap({ config: { consolidation: 'none' } });
  await cluster.pass(5);
  await cluster.kube.delete({ resource: kubeResources.nodeClaims, name: 'claim-n1' });
  await cluster.pass(30);
  const [drained] = (await decisions()).filter(({ claimName }) => claimName === 'claim-n1');
  expect(drained).toMatchObject({ priceMicrosPerHour: 50_000, priceEstimated: false });
});

test.each([
  ['marked as an estimate while it is not known', undefined, '~0.192'],
  ['that of the catalog when it is', 192_000, '0.192'],
])('the price in a command is %s', async (_what, price, before) => {
  await launchedAt('0.192000');
  if (price !== undefined) await nowAt(price);
  replacements({ ...cheaper, afterMs: 600_000 });
  reap(replacing);
  expect(await cluster.pass(60, () => cluster.commandsUnderWay().length === 1, 500)).toBe(true);
  expect(cluster.commandsUnderWay()).toMatchObject([{ spec: { pricePerHourBefore: before } }]);
});

// Drifted and unhealthy nodes wait for plans, too, and decisions tell what a node costs now.
test.each(['none', 'replace'] as const)(
  'under consolidation "%s" the reaper follows prices and refusals',
  async (consolidation) => {
    await started();
    const followed: string[] = [];
    const bus = cluster.connect();
    const follow: typeof bus.follow = (options, stop) => {
      followed.push(options.stream);
      return bus.follow(options, stop);
    };
    const watched = new Proxy(bus, {
      get: (target, name) => {
        if (name === 'follow') return follow;
        const member: unknown = Reflect.get(target, name);
        return typeof member === 'function' ? (member.bind(target) as unknown) : member;
      },
    });
    reap({ config: { consolidation }, bus: watched });
    await cluster.pass(5);
    expect(followed.toSorted()).toEqual(['DOVETAIL_CATALOG_lab', 'DOVETAIL_STATE_lab']);
  },
);

describe('a search that found nothing is made again', () => {
  /** The what-ifs that are asked in so many hours at rest. */
  async function asked(solver: Replacements, hours: number): Promise<number> {
    const before = solver.requests.length;
    for (let hour = 0; hour < hours; hour += 1) await cluster.pass(3_600, () => false, 10_000);
    return solver.requests.length - before;
  }
  const rising = { afterMs: 0, priceMicrosPerHour: 200_000 } as const;

  test('less and less often while nothing changes, and at once when a price does', async () => {
    await launchedAt('0.0960');
    await nowAt(96_000);
    const solver = replacements(rising);
    reap(replacing);
    await cluster.pass(120);
    expect(await asked(solver, 2)).toBeLessThanOrEqual(5);
    expect(await asked(solver, 12)).toBeLessThanOrEqual(12);
    const before = solver.requests.length;
    await nowAt(97_000, '2');
    await cluster.pass(30);
    expect(solver.requests.length).toBeGreaterThan(before);
  });

  test('every five minutes where budgets begin and end by the clock', async () => {
    await started({
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: '5s',
      budgets: [{ nodes: '100%' }, { nodes: '0', schedule: '0 9 * * *', duration: '1h' }],
    });
    await cluster.node('n1', { cpu: '2' });
    await cluster.scale('web', 2);
    await cluster.pass(1);
    const solver = replacements(rising);
    reap(replacing);
    await cluster.pass(120);
    expect(await asked(solver, 1)).toBeGreaterThanOrEqual(10);
  });
});
