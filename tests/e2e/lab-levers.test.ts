import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectKubernetes } from '@dovetail/adapter-kubernetes/manifests';
import { type KubeApi, type KubeObject, kubeResources } from '@dovetail/core-ports';
import { type Ended, ranCommand } from '@dovetail/test-support/command';
import { schemaFaults } from '@dovetail/test-support/schemas';
import { poolManifest } from '@dovetail/test-support/workload';
import { eventually } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

type Instance = {
  readonly node: string;
  readonly claim?: string;
  readonly instanceId: string;
  readonly instanceType: string;
  readonly capacityType: string;
  readonly zone: string;
  readonly state: string;
  readonly priceMicrosPerHour: number;
};

/** A pod that fills a node of 2 CPUs for itself, bought as it says. */
const workloadOf = (name: string, capacityType: 'spot' | 'on-demand'): string => `
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name}, namespace: default }
spec:
  replicas: 1
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata: { labels: { app: ${name} } }
    spec:
      nodeSelector: { karpenter.sh/capacity-type: ${capacityType} }
      containers: [{ name: main, image: pause, resources: { requests: { cpu: 1500m, memory: 100Mi } } }]
`;

type PodLike = KubeObject & {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
};

describe('dovetail lab, in the folder of a lab', () => {
  let folder = '';
  let kube: KubeApi & { putManifests(text: string): Promise<unknown> };
  const lever = (...args: readonly string[]): Promise<Ended> =>
    ranCommand({ name: 'cli', folder, args: ['lab', ...args] });
  const instances = async (): Promise<readonly Instance[]> => {
    const { output } = await lever('instances', '-o', 'json');
    expect(schemaFaults('lab-instances', output)).toEqual([]);
    return (JSON.parse(output) as { readonly instances: readonly Instance[] }).instances;
  };
  /** Runs a pod of its own, and resolves to its node's instance. */
  const nodeFor = async (name: string, bought: 'spot' | 'on-demand'): Promise<Instance> => {
    await kube.putManifests(workloadOf(name, bought));
    return eventually(`a node for ${name}`, async () => {
      const labelSelector = `app=${name}`;
      const pods = (await kube.list(kubeResources.pods, { labelSelector })) as readonly PodLike[];
      const runs = pods.find(({ status }) => status?.phase === 'Running');
      return (await instances()).find(
        // The launcher writes the tag with the claim's name a moment after the launch.
        ({ node, claim }) => node === runs?.spec?.nodeName && claim !== undefined,
      );
    });
  };
  /** Waits until the services decided this about the object. */
  const decided = (kind: string, about: string): Promise<unknown> =>
    eventually(`a decision ${kind} about ${about}`, async () => {
      const asked = ['decisions', '--kind', kind, '--about', about, '-o', 'json'];
      const { output } = await ranCommand({ name: 'cli', folder, args: asked });
      return output.includes(`"kind":"${kind}"`);
    });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dovetail-levers-'));
  });
  afterAll(async () => {
    await ranCommand({ name: 'lab', folder, args: ['down'] });
    await rm(folder, { recursive: true, force: true });
  });

  test('without a lab, a lever says how to start one', async () =>
    expect(await lever('interrupt', 'x')).toMatchObject({
      code: 69,
      output: expect.stringMatching(/no lab runs in this folder .*make lab/),
    }));

  test('a lab begins without instances', async () => {
    expect(await ranCommand({ name: 'lab', folder, args: ['up'] })).toMatchObject({ code: 0 });
    kube = connectKubernetes({ kubeconfigPath: join(folder, '.lab', 'kubeconfig'), log: silent });
    const types = ['c5.large', 'm5.large', 'c5a.large'];
    await kube.putManifests(
      poolManifest({
        clusterName: 'lab',
        instanceTypes: types,
        capacityTypes: ['spot', 'on-demand'],
      }),
    );
    expect(await lever('instances')).toEqual({ code: 0, output: 'the lab has no instance\n' });
  });

  test('interrupt: EC2 warns of the end of a Spot node, and the reaper replaces it', async () => {
    const { claim, instanceId } = await nodeFor('first', 'spot');
    const ended = await lever('interrupt', claim ?? '', '--notice', '20s');
    expect(ended.output).toContain(`(${instanceId}, `);
    expect(ended.output).toMatch(/in 20s, and has sent the notice/);
    await decided('interrupt', instanceId);
  });

  test('interrupt refuses a node on demand, and says what to do instead', async () => {
    const { node } = await nodeFor('second', 'on-demand');
    expect(await lever('interrupt', node)).toMatchObject({
      code: 64,
      output: expect.stringMatching(/is on demand, and EC2 interrupts only Spot: use dovetail lab/),
    });
    expect(await lever('interrupt', `${node}x`)).toMatchObject({
      code: 66,
      output: expect.stringContaining(`did you mean ${node}?`),
    });
  });

  test('stop: an instance that someone stops is noticed', async () => {
    const { node, instanceId } = await nodeFor('third', 'on-demand');
    expect((await lever('stop', node)).output).toMatch(/ stops, as if someone/);
    await decided('interrupt', instanceId);
  });

  test('price: Spot costs three times as much, and then as before', async () => {
    const { instanceId } = await nodeFor('fourth', 'spot');
    const priceNow = async (): Promise<number> =>
      (await instances()).find((one) => one.instanceId === instanceId)?.priceMicrosPerHour ?? 0;
    const before = await priceNow();
    expect((await lever('price', '3')).output).toMatch(/^Spot now costs 3 times/);
    expect((await priceNow()) / before).toBeCloseTo(3, 1);
    await lever('price', '1');
    expect(await priceNow()).toBe(before);
  });

  test('fail: the next call fails, and the launcher tries again', async () => {
    expect((await lever('fail', 'ec2:CreateFleet')).output).toMatch(/the next call of/);
    await nodeFor('fifth', 'on-demand');
    const calls = await lever('calls');
    expect(calls.output).toMatch(/^ec2:CreateFleet +\d+ +[1-9]\d* /m);
  });

  test('rebalance, impair, retire, slow, throttle, release-images do as they say', async () => {
    const { node } = await nodeFor('sixth', 'spot');
    for (const [args, said] of [
      [['rebalance', node], /EC2 has recommended to leave/],
      [['impair', node], /the instance status check of .* fails/],
      [['impair', node, '--undo'], /passes again/],
      [['retire', node], /retires .* in two weeks/],
      [['slow', 'ec2:CreateFleet', '1s'], /takes 1000 ms/],
      [['slow', 'ec2:CreateFleet', '0s'], /no longer than they must/],
      [['throttle', 'ec2:CreateFleet', '--per-second', '5'], /allows 5 calls/],
      [['throttle', 'ec2:CreateFleet', '--undo'], /as it documents/],
      [['fail', '--undo'], /no call fails/],
      [['capacity', 'none', '--type', 'm5.large'], /gives 0 more of each: m5\.large/],
      [['capacity', 'unlimited', '--type', 'm5.large'], /as many as are asked for/],
      [['release-images'], /AWS has released the images \d{8} for Kubernetes 1\.\d+/],
    ] as const)
      expect(await lever(...args), args.join(' ')).toMatchObject({
        code: 0,
        output: expect.stringMatching(said),
      });
  });

  test.each([
    [['capacity', 'none', '--type', 'm5.lrge'], /m5\.lrge is not sold/],
    [['drain-zone', 'us-west-9z'], /us-west-9z has no subnet here; .*us-west-2a/],
    [['fail', 'ec2:CreateFlet'], /ec2:CreateFlet is not served here/],
    [['fail'], /name an action/],
    [['price', 'dear'], /write a factor/],
    [['clock', 'soon'], /write a duration/],
    [['release-images', '--kubernetes-version', '1.2'], /there are no images for 1\.2/],
  ])('%j is refused with what to give instead', async (args, hint) =>
    expect(await lever(...args)).toMatchObject({ code: 64, output: expect.stringMatching(hint) }),
  );

  test('drain-zone: Spot nodes leave the zone, and nothing is launched there', async () => {
    const { zone, instanceId } = await nodeFor('seventh', 'spot');
    expect((await lever('drain-zone', zone, '--notice', '20s')).output).toMatch(
      /launches nothing more in us-west-2[a-z], and takes [1-9]\d* Spot nodes? there in 20s/,
    );
    await decided('interrupt', instanceId);
    const { zone: other } = await nodeFor('eighth', 'spot');
    expect(other).not.toBe(zone);
    expect((await lever('drain-zone', zone, '--undo')).output).toMatch(/launches in .* again/);
  });

  test('clock: nodes that expire after 30 days expire now', async () => {
    const { node } = await nodeFor('ninth', 'on-demand');
    expect((await lever('clock', '721h')).output).toMatch(/went on by 30d 1h/);
    await decided('disrupt', node);
  });
});
