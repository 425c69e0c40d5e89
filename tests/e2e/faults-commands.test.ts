import { kubeResources } from '@dovetail/core-ports';
import {
  claims,
  instances,
  ourNodes,
  untilNothingLeft,
  untilRunning,
} from '@dovetail/test-support/cluster';
import { type Fault, faultsOf, strike } from '@dovetail/test-support/faults';
import { poolReady } from '@dovetail/test-support/placement';
import { keepTable } from '@dovetail/test-support/results';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import {
  eventually,
  openWorld,
  quickLeaseMs,
  type TestWorld,
  worlds,
} from '@dovetail/test-support/world';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

/**
 * Two nodes of a large and a small pod each. Once the large pods are gone, a command of
 * consolidation replaces both nodes by one smaller one, and a fault strikes in its middle.
 */
const parts = (['a', 'b'] as const).flatMap((app) => [
  { name: `large-${app}`, cpu: '2600m', memory: '100Mi' },
  { name: `small-${app}`, cpu: '700m', memory: '100Mi' },
]);
const world = (await worlds()).includes('real') ? 'real' : 'twin';
/** Each strike takes minutes. */
const isLong = process.env['FAULT_CYCLES'] !== undefined;
const struck = faultsOf(world);
if (!isLong)
  process.stdout.write(
    'LEFT OUT: faults in the middle of a command of consolidation: `npm run faults` strikes them\n',
  );
const survived = new Set<Fault>();
const typeLabel = 'node.kubernetes.io/instance-type';
const lastEventOf = (status: unknown): string =>
  (status as { readonly lastPodEventTime?: string }).lastPodEventTime ?? '';
const isOver = (status: unknown): boolean =>
  (status as { readonly endedAt?: string } | undefined)?.endedAt !== undefined;

describe.skipIf(!isLong)(
  `a command of consolidation with a fault in its middle, on the ${world} world`,
  () => {
    let at: TestWorld;
    beforeAll(async () => {
      at = await openWorld({
        world,
        solvers: 3,
        env: { reaper: { CONSOLIDATION: 'all' } },
        leaseMs: quickLeaseMs,
      });
      const pool = {
        consolidationPolicy: 'WhenEmptyOrUnderutilized',
        consolidateAfter: '5s',
        budgets: '[{ nodes: "0" }]',
      };
      const instanceTypes = ['c5.large', 'c5.xlarge'];
      await at.kube.putManifests(poolManifest({ clusterName: 'lab', instanceTypes, ...pool }));
      await poolReady(at);
    });
    afterAll(async () => {
      await keepTable('faults', {
        title: `Faults in the middle of a command of consolidation, on the ${world} world`,
        columns: ['fault', 'moments tried', 'survived'],
        rows: struck.map((fault) => [fault, 1, survived.has(fault) ? 1 : 0]),
        summary: [],
      });
      await at?.close();
    });

    const typesNow = async (): Promise<readonly string[]> =>
      (await ourNodes(at)).map(({ metadata }) => metadata.labels?.[typeLabel] ?? '').sort();
    const mayDisrupt = (nodes: string): Promise<unknown> => {
      const body = { spec: { disruption: { budgets: [{ nodes }] } } };
      return at.kubectl('patch', 'nodepool/default', '--type=merge', '-p', JSON.stringify(body));
    };
    const scale = (names: readonly string[], replicas: number): Promise<unknown> =>
      at.kubectl('scale', ...names.map((name) => `deployment/${name}`), `--replicas=${replicas}`);

    beforeEach(async () => {
      await mayDisrupt('0');
      for (const [index, part] of parts.entries()) {
        await at.kube.putManifests(deploymentManifest({ ...part, replicas: 1 }));
        await untilRunning(at, 'default', index + 1, 120_000);
      }
      expect(await typesNow()).toEqual(['c5.xlarge', 'c5.xlarge']);
    });
    afterEach(async () => {
      await at.kubectl('delete', 'deployment', ...parts.map(({ name }) => name));
      await mayDisrupt('100%');
      await untilNothingLeft(at, 120_000);
    });

    /** Lets a command begin, and returns once it is under way. */
    async function begin(): Promise<void> {
      const before = new Set(
        (await at.list(kubeResources.disruptions)).map(({ metadata }) => metadata.uid),
      );
      await scale(['large-a', 'large-b'], 0);
      await eventually('rest on both nodes', async () => {
        const held = await at.list(kubeResources.nodeClaims);
        const restMs = held.map(({ status }) => Date.now() - Date.parse(lastEventOf(status)));
        const pods = await at.list(kubeResources.pods, { namespace: 'default' });
        return pods.length === 2 && restMs.every((ms) => ms > 5_000);
      });
      await mayDisrupt('100%');
      await eventually(
        'a command under way',
        async () =>
          (await at.list(kubeResources.disruptions)).some(
            ({ metadata, status }) => !before.has(metadata.uid) && !isOver(status),
          ),
        120_000,
      );
    }

    test.each(struck)(
      '%s: both nodes end for one smaller node, every pod runs, and no command stays open',
      async (fault) => {
        await begin();
        await strike(at, fault);
        await eventually(
          'one c5.large',
          async () => (await typesNow()).join() === 'c5.large' && (await claims(at)).length === 1,
          // A command whose reaper dies before it has asked for its nodes is taken back. Another
          // begins minutes later.
          480_000,
        );
        await untilRunning(at, 'default', 2, 120_000);
        await eventually('one instance', async () => (await instances(at)).length === 1);
        await eventually('the end of every command', async () =>
          (await at.list(kubeResources.disruptions)).every(({ status }) => isOver(status)),
        );
        survived.add(fault);
      },
    );
  },
);
