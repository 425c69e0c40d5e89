import { kubeResources } from '@dovetail/core-ports';
import {
  claims,
  instances,
  labelOf,
  ourNodes,
  pods,
  untilRunning,
} from '@dovetail/test-support/cluster';
import { poolReady } from '@dovetail/test-support/placement';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Two pods fill a c5.large. */
const load = { name: 'load', cpu: '700m', memory: '100Mi' } as const;
const hashKeys = [
  'karpenter.sh/nodepool-hash',
  'karpenter.sh/nodepool-hash-version',
  'karpenter.k8s.aws/ec2nodeclass-hash',
  'karpenter.k8s.aws/ec2nodeclass-hash-version',
];
type Conditions = { readonly conditions?: readonly { readonly type: string; reason: string }[] };

describe.each(await worlds())('drift, on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world });
    await at.kube.putManifests(
      poolManifest({
        clusterName: 'lab',
        instanceTypes: ['c5.large'],
        consolidateAfter: 'Never',
        budgets: '[{ nodes: "0", reasons: [Drifted] }]',
      }),
    );
    await poolReady(at);
    await at.kube.putManifests(deploymentManifest({ ...load, replicas: 4 }));
    await untilRunning(at, 'default', 4);
  });
  afterAll(async () => at?.close());

  const namesOf = async (): Promise<readonly string[]> =>
    (await ourNodes(at)).map(({ metadata }) => metadata.name).sort();
  const reasons = async (): Promise<readonly (string | undefined)[]> =>
    (await claims(at)).map(
      (claim) =>
        (claim['status'] as Conditions).conditions?.find(({ type }) => type === 'Drifted')?.reason,
    );
  const said = (reason: string, text: string): Promise<unknown> =>
    eventually(`an Event ${reason}: ${text}`, async () =>
      (await at.list(kubeResources.events)).some(
        (event) => event['reason'] === reason && String(event['message']).includes(text),
      ),
    );
  const patchPool = (spec: object): Promise<unknown> =>
    at.kubectl('patch', 'nodepool', 'default', '--type=merge', '-p', JSON.stringify({ spec }));

  test('pool, class and claims carry one hash, and nothing has drifted', async () => {
    const [pool] = await at.list(kubeResources.nodePools);
    const [nodeClass] = await at.list(kubeResources.ec2NodeClasses);
    const wanted = { ...pool?.metadata.annotations, ...nodeClass?.metadata.annotations };
    expect(hashKeys.map((key) => wanted[key])).toEqual([
      expect.stringMatching(/^[0-9]+$/),
      'v3',
      expect.stringMatching(/^[0-9]+$/),
      'v6',
    ]);
    for (const { metadata } of await claims(at))
      expect(hashKeys.map((key) => metadata.annotations?.[key])).toEqual(
        hashKeys.map((key) => wanted[key]),
      );
    expect(await reasons()).toEqual([undefined, undefined]);
  });

  test('a changed template drifts the nodes, which stay while the budget allows none', async () => {
    const before = await namesOf();
    await patchPool({ template: { metadata: { labels: { team: 'a' } } } });
    await eventually('both claims to have drifted', async () =>
      (await reasons()).every((reason) => reason === 'NodePoolDrifted'),
    );
    await said('Drifted', 'Status condition transitioned, Type: Drifted');
    await said('DisruptionBlocked', 'No allowed disruptions for disruption reason Drifted');
    expect(await namesOf()).toEqual(before);
  });

  test('a budget of one lets them be replaced one after the other', async () => {
    const before = await namesOf();
    await patchPool({ disruption: { budgets: [{ nodes: '1', reasons: ['Drifted'] }] } });
    await eventually(
      'two other nodes',
      async () => {
        const now = await ourNodes(at);
        return now.length === 2 && now.every(({ metadata }) => !before.includes(metadata.name));
      },
      180_000,
    );
    await untilRunning(at, 'default', 4);
    expect((await ourNodes(at)).map((node) => labelOf(node, 'team'))).toEqual(['a', 'a']);
    const homes = new Set((await pods(at, 'default')).map(({ spec }) => spec.nodeName));
    expect([...homes].sort()).toEqual(await namesOf());
    await eventually(
      'their instances to end',
      async () => (await instances(at)).filter(({ state }) => state === 'running').length === 2,
    );
    const told = at.decisions.all.filter(
      ({ kind, facts }) => facts['cause'] === 'drifted' && ['disrupt', 'drain'].includes(kind),
    );
    expect(told.map(({ kind }) => kind)).toEqual(['disrupt', 'drain', 'disrupt', 'drain']);
    // The claim of an instance that has ended goes a moment later.
    await eventually('their claims to go', async () => (await reasons()).length === 2);
    expect(await reasons()).toEqual([undefined, undefined]);
  });
});
