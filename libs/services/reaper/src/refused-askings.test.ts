import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import type { ReaperConfig } from './config.js';
import {
  cluster,
  isDeleting,
  reap,
  replacements,
  started,
  tainted,
} from './testing/current-cluster.js';
import { refusePlan } from './testing/refusals.js';
import { planIdOfRequest, type Replacements } from './testing/replacements.js';

const protectedNode = { nodeAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
const settled = {
  consolidationPolicy: 'WhenEmpty',
  consolidateAfter: 'Never',
  budgets: [{ nodes: '100%' }],
};
const underUsed = { ...settled, consolidationPolicy: 'WhenEmptyOrUnderutilized' };

const drifts = (): Promise<void> => cluster.drift('n1', 'AMIDrift');
async function failsItsDisk(): Promise<void> {
  const since = new Date(cluster.clock.nowMs()).toISOString();
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type: 'StorageReady', status: 'False', lastTransitionTime: since },
  ];
  const ref = { resource: kubeResources.nodes, name: 'n1' };
  const body = { status: { conditions } };
  await cluster.kube.patch(ref, { type: 'merge', body }, { subresource: 'status' });
  await cluster.advance(1_795_000);
}

/** The number of the request that commits to a plan, from 1; 0: none does yet. */
const committed = ({ requests }: Replacements): number =>
  requests.findIndex(({ commit }) => commit !== undefined) + 1;

test.each<[string, object, () => Promise<void>, Partial<ReaperConfig>]>([
  ['drifts', settled, drifts, {}],
  ['is unhealthy', settled, failsItsDisk, { nodeRepair: true }],
  [
    'is under-used and goes alone',
    { ...underUsed, consolidateAfter: '5s' },
    () => Promise.resolve(),
    { consolidation: 'delete' },
  ],
])(
  'a node that %s is given back at once if the launcher refuses its plan',
  async (_why, disruption, begins, config) => {
    await started(disruption);
    await cluster.node('n1', { cpu: '4' });
    await cluster.scale('web', 2);
    await cluster.pass(2);
    await cluster.node('n2', { cpu: '8', ...protectedNode });
    const solver = replacements({ afterMs: 0, room: true, admits: () => [] });
    reap({ config });
    await cluster.pass(3);
    await begins();
    expect(await cluster.pass(90, () => committed(solver) > 0, 500)).toBe(true);
    await cluster.pass(2);
    expect(tainted('n1')).toBe(true);
    const request = committed(solver);
    await refusePlan(planIdOfRequest(request), solver.requests[request - 1]?.podUids ?? []);
    expect(await cluster.pass(3, () => !tainted('n1'), 500)).toBe(true);
    expect(isDeleting('claim-n1')).toBe(false);
    expect(cluster.events('DisruptionBlocked').join()).toContain(
      'the launcher refused its replacement: the pool has reached its limit',
    );
  },
);

test('nodes that go together are given back at once if the launcher refuses their plan', async () => {
  await started({ ...underUsed, consolidateAfter: '5s' });
  await cluster.node('n1', { cpu: '2' });
  await cluster.node('n3', { cpu: '2' });
  await cluster.scale('web', 4);
  await cluster.pass(1);
  await cluster.node('n2', { cpu: '8', ...protectedNode });
  const solver = replacements({ afterMs: 0, room: true, admits: () => [] });
  reap();
  expect(await cluster.pass(90, () => committed(solver) > 0, 500)).toBe(true);
  await cluster.pass(2);
  const request = committed(solver);
  await refusePlan(planIdOfRequest(request), solver.requests[request - 1]?.podUids ?? []);
  const areBack = () => !tainted('n1') && !tainted('n3');
  expect(await cluster.pass(5, areBack, 500)).toBe(true);
});
