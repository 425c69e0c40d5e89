import type { Decision } from '@dovetail/contracts';
import { allocatableOf, catalogFor } from '@dovetail/core-ec2-model';
import { compareText, parseAmount } from '@dovetail/core-kube-model';
import { kubeResources } from '@dovetail/core-ports';
import {
  claims,
  events,
  fleetsRequested,
  instances,
  ourNodes,
  untilRunning,
} from '@dovetail/test-support/cluster';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const region = 'us-west-2';
const gibibyte = 1024 ** 3;
const nodeClass = { amiFamily: 'AL2023', kubelet: {}, blockDeviceMappings: [] } as const;

/**
 * On-demand c, m or r types above generation 4, amd64, that hold 5 GiB, cheapest first, from the
 * catalog alone.
 */
const fitting = catalogFor(region)
  .filter(({ facts, onDemandPriceMicrosPerHour, zones }) => {
    const [, category, generation] = /^([a-z]+)(\d+)[^.]*\./.exec(facts.name) ?? [];
    return (
      onDemandPriceMicrosPerHour !== undefined &&
      zones.length > 0 &&
      facts.arch === 'amd64' &&
      ['c', 'm', 'r'].includes(category ?? '') &&
      Number(generation) > 4 &&
      (allocatableOf(facts, nodeClass)['memory'] ?? 0) >= 5 * gibibyte
    );
  })
  .map(({ facts, onDemandPriceMicrosPerHour = 0 }) => ({
    name: facts.name,
    price: onDemandPriceMicrosPerHour,
  }))
  .toSorted((a, b) => a.price - b.price || compareText(a.name, b.name));
/** On-demand prices by type. */
const catalog = new Map(
  catalogFor(region).map(({ facts, onDemandPriceMicrosPerHour }) => [
    facts.name,
    onDemandPriceMicrosPerHour ?? Infinity,
  ]),
);
const podsOf = async (at: TestWorld) =>
  (await at.list(kubeResources.pods)).filter(({ metadata }) => metadata.namespace === 'other');
/** The types at the lowest price among the rest. */
const cheapestOf = (types: typeof fitting): readonly string[] =>
  types.filter((type) => type.price === types[0]?.price).map((type) => type.name);
const cheapest = cheapestOf(fitting);

/** The number of the scenario's pods, of 1 GiB each, that the existing nodes hold. */
async function podsThatFit(at: TestWorld): Promise<number> {
  const allocatable = (await ourNodes(at)).map(
    (node) =>
      parseAmount(
        (node.status as { allocatable?: { memory?: string } } | undefined)?.allocatable?.memory,
      ) ?? 0,
  );
  return allocatable.reduce((sum, bytes) => sum + Math.floor(bytes / gibibyte), 0);
}

async function scaleTo(at: TestWorld, replicas: number): Promise<void> {
  await at.kubectl('scale', '-n', 'other', 'deployment/inflate', `--replicas=${replicas}`);
  await untilRunning(at, 'other', replicas, 120_000);
}

/** A node's packing, its launch, and the request that EC2 got for it. */
type NodeMade = {
  readonly admitted: Decision | undefined;
  readonly launched: Decision;
  /** The types of the last fleet request, which may have failed in part. */
  readonly requested: ReadonlySet<string>;
};

/** Fills the existing nodes, then asks for five pods more, which need a node that holds 5 GiB. */
async function oneNodeMore(at: TestWorld): Promise<NodeMade> {
  const full = await podsThatFit(at);
  await scaleTo(at, full);
  const before = await instances(at);
  await scaleTo(at, full + 5);
  const added = (await instances(at)).filter(
    ({ instanceId }) => !before.some((held) => held.instanceId === instanceId),
  );
  expect(added).toHaveLength(1);
  const launched = await eventually('the launch as a decision', () =>
    at.decisions.of('launch').find(({ instanceId }) => instanceId === added[0]?.instanceId),
  );
  const asked = (await fleetsRequested(at)).at(-1);
  return {
    launched,
    admitted: at.decisions.of('admit').find(({ claimName }) => claimName === launched.claimName),
    requested: new Set(
      asked?.configs.flatMap(({ overrides }) => overrides.map(({ instanceType }) => instanceType)),
    ),
  };
}

/** The types that a packing names: its cheapest option and the alternatives. */
const optionsOf = (admitted: Decision | undefined): readonly string[] => [
  admitted?.instanceType ?? '',
  ...(admitted?.alternatives ?? []).map(({ what }) => what.split(' ')[0] ?? ''),
];

/** A world in which the scenario has begun. */
async function begun(
  world: (typeof allWorlds)[number],
  reaper: Readonly<Record<string, string>> = {},
): Promise<TestWorld> {
  const at = await openWorld({ world, region, env: { reaper } });
  await at.applyScenario('inflate-memory', ['namespace.yaml', 'nodepool.yaml']);
  await at.kubectl('wait', 'nodepool/general-purpose', '--for=condition=Ready', '--timeout=90s');
  await at.applyScenario('inflate-memory', ['workload.yaml']);
  return at;
}

const allWorlds = await worlds();

describe.each(allWorlds)('scenario inflate-memory on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    // These tests count nodes whose pods come and go. Under consolidation such nodes would go, too.
    at = await begun(world, { CONSOLIDATION: 'none' });
  });
  afterAll(async () => at?.close());

  test('one node of the cheapest type that holds 5 GiB runs all five pods, and the rollout succeeds', async () => {
    expect(
      await at.kubectl('rollout', 'status', '-n', 'other', 'deployment/inflate', '--timeout=180s'),
    ).toMatch(/successfully rolled out/);
    await untilRunning(at, 'other', 5);
    expect(await ourNodes(at)).toHaveLength(1);
    const [instance] = await instances(at);
    expect(cheapest).toContain(instance?.instanceType);
    expect(instance?.capacityType).toBe('on-demand');
  });

  // DRIFTED is blank while the claim is as its pool asks.
  test('kubectl get nodeclaims -o wide has its columns, filled', async () => {
    await eventually('the claim to be ready', async () =>
      /True/.test(await at.kubectl('get', 'nodeclaims.karpenter.sh')),
    );
    const [head = '', row = '', ...others] = (
      await at.kubectl('get', 'nodeclaims.karpenter.sh', '-o', 'wide')
    )
      .trimEnd()
      .split('\n')
      .map((line) => line.trimEnd().split(/\s{2,}/));
    expect(head).toEqual([
      'NAME',
      'TYPE',
      'CAPACITY',
      'ZONE',
      'NODE',
      'READY',
      'AGE',
      'IMAGEID',
      'ID',
      'NODEPOOL',
      'NODECLASS',
      'DRIFTED',
    ]);
    const [[claim], [node], [instance]] = await Promise.all([
      claims(at),
      ourNodes(at),
      instances(at),
    ]);
    expect([row, ...others]).toEqual([
      [
        claim?.metadata.name,
        instance?.instanceType,
        'on-demand',
        instance?.zone,
        node?.metadata.name,
        'True',
        expect.stringMatching(/^\d+[smh](\d+s)?$/),
        instance?.imageId,
        `aws:///${instance?.zone}/${instance?.instanceId}`,
        'general-purpose',
        'default',
      ],
    ]);
  });

  test('kubectl get nodes shows the type in the column of its older label', async () => {
    const label = 'beta.kubernetes.io/instance-type';
    const [head = '', row = '', ...others] = (await at.kubectl('get', 'nodes', '-L', label))
      .trimEnd()
      .split('\n');
    const [instance] = await instances(at);
    expect([head.split(/\s+/).at(-1), row.split(/\s+/).at(-1), others]).toEqual([
      'INSTANCE-TYPE',
      instance?.instanceType,
      [],
    ]);
  });

  test('kubectl events shows the conditions of the NodeClaim as transitions, and that it is blocked while it has no node', async () => {
    const [claim] = await claims(at);
    const lines = async (): Promise<string> =>
      (await at.kubectl('events'))
        .split('\n')
        .filter((line) => line.includes(`NodeClaim/${claim?.metadata.name}`))
        .join('\n');
    for (const condition of ['Launched', 'Registered', 'Initialized', 'Ready']) {
      const transition = new RegExp(
        `Normal +${condition} +NodeClaim/\\S+ +Status condition transitioned, Type: ${condition}, Status: Unknown -> True, Reason: ${condition}`,
      );
      await eventually(`a line ${condition}`, async () => transition.test(await lines()));
    }
    expect(await lines()).toMatch(
      /Normal +DisruptionBlocked +NodeClaim\/\S+ +Nodeclaim does not have an associated node/,
    );
    const told = (await events(at))
      .filter((event) => event.involvedObject?.kind === 'NodeClaim')
      .map((event) => ({ ...event, at: String(event['firstTimestamp']) }));
    const atOf = (text: string): string =>
      told.find(({ reason, message }) => reason === text || message === text)?.at ?? '';
    expect(atOf('Nodeclaim does not have an associated node') <= atOf('Registered')).toBe(true);
  });

  test('with that type out of capacity everywhere the next cheapest launches, and the first is not tried again for three minutes', async () => {
    const [{ instanceType: first } = { instanceType: '' }] = await instances(at);
    const nextCheapest = cheapestOf(fitting.filter(({ name }) => name !== first));
    await at.cloud('POST', 'capacity', { instanceType: first, capacityType: 'on-demand', free: 0 });
    const without = await oneNodeMore(at);
    expect([without.admitted?.instanceType, without.requested.has(first)]).toEqual([first, true]);
    expect(nextCheapest).toContain(without.launched.instanceType);

    await at.cloud('POST', 'capacity', {
      instanceType: first,
      capacityType: 'on-demand',
      free: 'unlimited',
    });
    const avoiding = await oneNodeMore(at);
    expect(optionsOf(avoiding.admitted)).not.toContain(first);
    expect(nextCheapest.filter((name) => avoiding.requested.has(name))).toEqual(nextCheapest);
    expect(avoiding.requested.has(first)).toBe(false);
    expect(nextCheapest).toContain(avoiding.launched.instanceType);

    await at.lab.advanceClock(181_000);
    const again = await oneNodeMore(at);
    expect([again.admitted?.instanceType, again.launched.instanceType]).toEqual([first, first]);
  });

  test('once the pool asks for another label, the column DRIFTED says True', async () => {
    const patch = JSON.stringify({ spec: { template: { metadata: { labels: { team: 'web' } } } } });
    await at.kubectl('patch', 'nodepool', 'general-purpose', '--type=merge', `--patch=${patch}`);
    await eventually('a claim that is shown as drifted', async () =>
      / general-purpose +default +True *$/m.test(
        await at.kubectl('get', 'nodeclaims.karpenter.sh', '-o', 'wide'),
      ),
    );
  });
});

describe.each(allWorlds)('consolidation in scenario inflate-memory on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await begun(world);
    await untilRunning(at, 'other', 5, 120_000);
  });
  afterAll(async () => at?.close());
  const priceNow = async (): Promise<number> => {
    const running = (await instances(at)).filter(({ state }) => state === 'running');
    return running.length === 1
      ? (catalog.get(running[0]?.instanceType ?? '') ?? Infinity)
      : Infinity;
  };

  test('says that no cheaper node holds the five pods', async () => {
    await at.lab.advanceClock(60_000);
    await eventually('the Event', async () =>
      (await events(at)).some(
        ({ reason, message }) =>
          reason === 'Unconsolidatable' && message === "Can't replace with a cheaper node",
      ),
    );
    expect(cheapest).toContain((await instances(at))[0]?.instanceType);
  });

  test('gives the last of five pods a cheaper node', async () => {
    const before = await priceNow();
    await at.kubectl('scale', '-n', 'other', 'deployment/inflate', '--replicas=1');
    await eventually('one pod', async () => (await podsOf(at)).length === 1, 120_000);
    await at.lab.advanceClock(60_000);
    await eventually('one cheaper node', async () => (await priceNow()) < before, 180_000);
    await untilRunning(at, 'other', 1, 120_000);
    await eventually('one node', async () => (await ourNodes(at)).length === 1);
    const told = await at.kubectl('get', 'disruptions.dovetail.sh');
    expect(told).toMatch(/→ 1 new node; 1 pod to move/);
  });
});
