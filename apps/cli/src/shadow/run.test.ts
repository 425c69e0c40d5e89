import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { kubeResources, Stopper } from '@dovetail/core-ports';
import { podObject, Stage } from '@dovetail/sim-stage';
import { schemaFaults } from '@dovetail/test-support/schemas';
import { afterEach, describe, expect, test } from 'vitest';

import { quotesIn } from './prices.js';
import type { ShadowRequest } from './request.js';
import { runShadow } from './run.js';
import {
  claimObject,
  endShadow,
  launch as launched,
  type Shadowing,
  startShadow,
} from './testing/shadowing.js';

const { nodeClaims, nodes, pods } = kubeResources;
let shadow: Shadowing | undefined;
let stage: Stage;
let said: Shadowing['said'];

afterEach(async () => {
  if (shadow === undefined) stage.end();
  else await endShadow(shadow);
  shadow = undefined;
});

async function shadowing(request: Partial<ShadowRequest> = {}): Promise<void> {
  shadow = await startShadow(request);
  ({ stage, said } = shadow);
}

const launch = (name: string, type: string): Promise<void> => launched(stage.kube, name, type);

const runningOn = (name: string, nodeName: string, cpu: string): Promise<unknown> =>
  stage.kube.create(pods, podObject(name, { cpu, spec: { nodeName } }));
const printed = async (): Promise<Record<string, unknown>> => {
  await stage.until('a comparison', () => said.out !== '', 60_000);
  expect(schemaFaults('shadow', said.out)).toEqual([]);
  return JSON.parse(said.out) as Record<string, unknown>;
};

describe('a round of launches', () => {
  test('is compared with the nodes that the planner buys for the pods that waited', async () => {
    await shadowing();
    await runningOn('busy-1', 'n1', '8');
    await runningOn('busy-2', 'n2', '4');
    for (const name of ['a', 'b', 'c']) await stage.kube.create(pods, podObject(name));
    await stage.clock.advance(2_000);
    for (const name of ['general-1', 'general-22'])
      await stage.kube.create(nodeClaims, claimObject(name));
    // A pod that comes later was not what these claims are for.
    await stage.clock.advance(1_000);
    await stage.kube.create(pods, podObject('later', { cpu: '60' }));
    await stage.clock.advance(5_000);
    expect(said.out).toBe('');
    await launch('general-1', 'm5.4xlarge');
    await launch('general-22', 'm5.4xlarge');
    expect(await printed()).toMatchObject({
      pods: 3,
      karpenter: { nodes: [{ instanceType: 'm5.4xlarge' }, {}], price: 1.536 },
      dovetail: { nodes: [{ pool: 'NodePool/general', zone: expect.any(String) }] },
      ends: [],
      difference: expect.any(Number),
    });
    const { difference, dovetail } = JSON.parse(said.out) as {
      difference: number;
      dovetail: { price: number };
    };
    expect(dovetail.price).toBeGreaterThan(0);
    expect(difference).toBeCloseTo(dovetail.price - 1.536, 6);
  });

  test('for pods that fit on nodes that are there would not have been made', async () => {
    await shadowing({ output: 'table' });
    await stage.kube.create(pods, podObject('a'));
    await stage.clock.advance(2_000);
    await stage.kube.create(nodeClaims, claimObject('general-1'));
    await launch('general-1', 'm5.large');
    await stage.until('a comparison', () => said.out !== '', 60_000);
    expect(said.out).toMatch(
      /^\d\d:\d\d:\d\d {2}1 pod: -\$0\.0960\/h with Dovetail\n {2}Karpenter: 1 node, \$0\.0960\/h \(1× m5\.large\)\n {2}Dovetail: {2}no new node, 1 pod on nodes that are there\n$/,
    );
    shadow?.stop.abort();
    await stage.clock.advance(0);
    expect(await shadow?.ended).toBe(0);
    expect(said.err).toMatch(
      /1 launch and 0 ends compared: Karpenter \$0\.0960\/h, Dovetail \$0\.0000\/h/,
    );
  });

  test('that were given up before their launch is not told of', async () => {
    await shadowing();
    await stage.kube.create(pods, podObject('a', { cpu: '16' }));
    await stage.kube.create(nodeClaims, { ...claimObject('general-1') });
    await stage.clock.advance(5_000);
    await stage.kube.patch(
      { resource: nodeClaims, name: 'general-1' },
      { type: 'merge', body: { metadata: { finalizers: null } } },
    );
    await stage.kube.delete({ resource: nodeClaims, name: 'general-1' });
    await stage.clock.advance(10_000);
    expect(said.out).toBe('');
  });
});

describe('an end of nodes', () => {
  /** Karpenter's order: the taint, the condition, and later the deletion. */
  async function end(name: string, reason: string): Promise<void> {
    const taint = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
    await stage.kube.patch(
      { resource: nodes, name },
      { type: 'merge', body: { spec: { taints: [taint] } } },
    );
    const condition = {
      type: 'DisruptionReason',
      status: 'True',
      reason,
      message: '',
      lastTransitionTime: new Date(stage.clock.nowMs()).toISOString(),
    };
    await stage.kube.patch(
      { resource: nodeClaims, name },
      { type: 'merge', body: { status: { conditions: [condition] } } },
      { subresource: 'status' },
    );
  }

  test.each([
    ['none', { reason: 'Underutilized', keeps: { code: 'disruption-disabled' } }, 0.384],
    ['delete', { reason: 'Underutilized', node: 'n1', price: 0.384 }, 0],
  ] as const)(
    'as under-used is judged by what consolidation=%s would do',
    async (consolidation, verdict, difference) => {
      await shadowing({ consolidation });
      await runningOn('a', 'n1', '1');
      await stage.clock.advance(1_000);
      await end('n1', 'Underutilized');
      const line = await printed();
      expect(line).toMatchObject({ ends: [verdict] });
      expect(line['difference']).toBeCloseTo(difference, 6);
    },
  );

  test('as empty would have come from Dovetail too', async () => {
    await shadowing();
    await end('n2', 'Empty');
    const line = await printed();
    expect(line).toMatchObject({ ends: [{ node: 'n2', reason: 'Empty' }], difference: 0 });
    expect(JSON.stringify(line)).not.toContain('keeps');
  });
});

test("Karpenter's metrics have its prices, of Spot by zone", () => {
  const name = 'karpenter_cloudprovider_instance_type_offering_price_estimate';
  expect(
    quotesIn(`# TYPE ${name} gauge
${name}{capacity_type="on-demand",instance_type="m5.large",zone="us-west-2a"} 0.096
${name}{capacity_type="spot",instance_type="m5.large",zone="us-west-2b"} 0.0412
${name}{capacity_type="reserved",instance_type="m5.large",zone="us-west-2b"} 0.00000001
up 1`),
  ).toEqual([
    {
      instanceType: 'm5.large',
      capacityType: 'on-demand',
      zone: 'us-west-2a',
      priceMicrosPerHour: 96_000,
      estimated: false,
    },
    {
      instanceType: 'm5.large',
      capacityType: 'spot',
      zone: 'us-west-2b',
      priceMicrosPerHour: 41_200,
      estimated: false,
    },
  ]);
});

test.each([
  ['nobody serves', undefined, /cannot be read/],
  ['has no prices', 'up 1\n', /has no karpenter_cloudprovider/],
])('a metrics page that %s is refused with the remedy', async (_what, body, message) => {
  stage = await new Stage().begin();
  let err = '';
  const server = createServer((_request, response) => response.end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  if (body === undefined) await new Promise((resolve) => server.close(resolve));
  const code = await runShadow(
    {
      catalog: 'us-west-2',
      output: 'json',
      consolidation: 'none',
      budgetMs: 0,
      prices: `http://127.0.0.1:${String(port)}/metrics`,
    },
    stage,
    { out: () => undefined, err: (text) => (err += text) },
    new Stopper(),
  );
  server.close();
  expect([code, err]).toEqual([64, expect.stringMatching(message)]);
});
