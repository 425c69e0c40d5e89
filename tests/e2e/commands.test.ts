import { kubeResources } from '@dovetail/core-ports';
import { claims, instances, ourNodes, untilRunning } from '@dovetail/test-support/cluster';
import { poolReady } from '@dovetail/test-support/placement';
import { logged, serviceOf } from '@dovetail/test-support/service-view';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Each large pod fills most of a c5.xlarge. The two small ones fit on one c5.large together. */
const small = (app: string) =>
  ({ name: `small-${app}`, cpu: '700m', memory: '100Mi', replicas: 1 }) as const;
const large = (app: string) =>
  ({ name: `large-${app}`, cpu: '2600m', memory: '100Mi', replicas: 1 }) as const;
const lastEventOf = (status: unknown): string =>
  (status as { readonly lastPodEventTime?: string }).lastPodEventTime ?? '';
const typeLabel = 'node.kubernetes.io/instance-type';

describe.each(await worlds())('consolidation of nodes together, on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world, env: { reaper: { CONSOLIDATION: 'all' } } });
    const pool = {
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: '5s',
      // Until both nodes may go: on a slow machine the first would go before the second may.
      budgets: '[{ nodes: "0" }]',
    };
    const instanceTypes = ['c5.large', 'c5.xlarge'];
    await at.kube.putManifests(poolManifest({ clusterName: 'lab', instanceTypes, ...pool }));
    await poolReady(at);
    // One after the other, so that each small pod finds room beside a large one.
    for (const [index, pod] of [large('a'), small('a'), large('b'), small('b')].entries()) {
      await at.kube.putManifests(deploymentManifest(pod));
      await untilRunning(at, 'default', index + 1);
    }
  });
  afterAll(async () => at?.close());

  const typesNow = async (): Promise<readonly string[]> =>
    (await ourNodes(at)).map(({ metadata }) => metadata.labels?.[typeLabel] ?? '').sort();

  test('two nodes end together for one smaller node, and their command is over', async () => {
    expect(await typesNow()).toEqual(['c5.xlarge', 'c5.xlarge']);
    await at.kubectl('scale', 'deployment/large-a', 'deployment/large-b', '--replicas=0');
    await eventually('rest on both nodes', async () => {
      const pods = await at.list(kubeResources.pods);
      const areGone = pods.every(({ metadata }) => !metadata.name.startsWith('large'));
      const held = await at.list(kubeResources.nodeClaims);
      const restMs = held.map(({ status }) => Date.now() - Date.parse(lastEventOf(status)));
      return areGone && restMs.every((ms) => ms > 5_000);
    });
    const body = { spec: { disruption: { budgets: [{ nodes: '100%' }] } } };
    await at.kubectl('patch', 'nodepool/default', '--type=merge', '-p', JSON.stringify(body));
    await eventually(
      'one c5.large',
      async () => (await typesNow()).join() === 'c5.large' && (await claims(at)).length === 1,
      180_000,
    );
    await untilRunning(at, 'default', 2);
    const lines = await logged(await serviceOf(at.lab, 'reaper'), 'command-advanced');
    expect(JSON.stringify(lines)).toContain('of 2 nodes is Ending');
    expect((await instances(at)).filter(({ state }) => state === 'running')).toHaveLength(1);
    await eventually('the end of the command', async () =>
      (await at.list(kubeResources.disruptions)).every(
        ({ status }) => (status as { readonly endedAt?: string }).endedAt !== undefined,
      ),
    );
    expect(await at.kubectl('get', 'disruptions.dovetail.sh')).toMatch(
      /SUMMARY[^]*→ 1 new node; 2 pods to move/,
    );
  });
});
