import type { Condition } from '@dovetail/core-api';
import { kubeResources } from '@dovetail/core-ports';
import { conditionOf, conditionsIn } from '@dovetail/service-kit';
import { describe, expect, test } from 'vitest';

import {
  claims,
  minute,
  nodeClaims,
  pending,
  ready,
  reasonsOf,
  running,
  self,
} from './testing/faults.js';

const { nodePools } = kubeResources;
type PoolStatus = {
  readonly nodes?: number;
  readonly resources?: Readonly<Record<string, string>>;
};

const pool = async () => {
  const [object] = await self.kube.list(nodePools);
  return { object, status: (object?.['status'] ?? {}) as PoolStatus };
};
const health = async (): Promise<Condition | undefined> =>
  conditionOf(conditionsIn((await pool()).object ?? {}), 'NodeRegistrationHealthy');
const healthIs = (status: string): Promise<unknown> =>
  self.until(
    `NodeRegistrationHealthy to be ${status}`,
    async () => (await health())?.status === status,
  );
const counted = (nodes: number): Promise<unknown> =>
  self.until(
    `a pool of ${nodes} nodes`,
    async () =>
      (await pool()).status.nodes === nodes &&
      (await pool()).status.resources?.['nodes'] === `${nodes}`,
  );

async function runOne(): Promise<void> {
  await pending('a');
  await self.planner.planFor(['a']);
  await self.until('a running pod', () => running(1));
}

/** Lets a claim that EC2 refuses to launch be given up. */
async function failOne(pod: string): Promise<void> {
  await pending(pod);
  await self.planner.planFor([pod]);
  await self.until('a claim', async () => (await claims()).length === 1);
  await self.advance(6 * minute);
  await self.until('the claim to be gone', async () => (await claims()).length === 0);
}

describe('the status of a pool', () => {
  test('counts a node once it is launched, and no longer once it is being given up', async () => {
    await ready();
    await counted(0);
    await runOne();
    await counted(1);
    const [claim] = await claims();
    await self.kube.delete({ resource: nodeClaims, name: claim?.name ?? '' });
    await counted(0);
    expect((await pool()).status.resources).toMatchObject({ cpu: '0', memory: '0', pods: '0' });
  });

  test('says that nodes register once one has, and is unknown again after a change of the pool', async () => {
    await ready();
    await healthIs('Unknown');
    expect(await health()).toMatchObject({ reason: 'AwaitingReconciliation' });
    await runOne();
    await healthIs('True');
    const name = (await pool()).object?.metadata.name ?? '';
    await self.kube.patch(
      { resource: nodePools, name },
      { type: 'merge', body: { spec: { weight: 7 } } },
    );
    await healthIs('Unknown');
  });

  test('says that nodes do not register after two claims were given up, with the last cause', async () => {
    await ready();
    self.twin.gate.fail({
      action: 'ec2:CreateFleet',
      code: 'UnauthorizedOperation',
      message: 'not allowed',
      times: 1_000,
    });
    await failOne('a');
    expect((await health())?.status).toBe('Unknown');
    await failOne('b');
    await healthIs('False');
    expect(await health()).toMatchObject({ reason: 'Unauthorized' });
    expect(conditionOf(conditionsIn((await pool()).object ?? {}), 'Ready')?.status).toBe('True');
  });
});

describe('a budget that cannot be read', () => {
  test('leaves its pool usable, and a condition and an Event say why no node is disrupted', async () => {
    await ready();
    const name = (await pool()).object?.metadata.name ?? '';
    const withBudgets = (budgets: readonly object[]) =>
      self.kube.patch(
        { resource: nodePools, name },
        { type: 'merge', body: { spec: { disruption: { budgets } } } },
      );
    const budgetsAre = (status: string): Promise<unknown> =>
      self.until(`DisruptionBudgetsValid to be ${status}`, async () => {
        const held = conditionsIn((await pool()).object ?? {});
        return conditionOf(held, 'DisruptionBudgetsValid')?.status === status;
      });
    await withBudgets([{ nodes: '1', schedule: '61 9 * * *', duration: '1h' }]);
    await budgetsAre('False');
    expect((await reasonsOf('NodePool')).join()).toMatch(
      /BudgetInvalid: no node is disrupted: spec\.disruption\.budgets\[0\]\.schedule is "61 9 \* \* \*": /,
    );
    await runOne();
    expect(conditionOf(conditionsIn((await pool()).object ?? {}), 'Ready')?.status).toBe('True');
    await withBudgets([{ nodes: '1', reasons: ['Unhealthy'] }]);
    await budgetsAre('True');
  });
});

describe('a pool that asks for consolidation', () => {
  const consolidationOf = async (): Promise<Condition | undefined> =>
    conditionOf(conditionsIn((await pool()).object ?? {}), 'ConsolidationEnabled');
  const policy = async (consolidationPolicy: string): Promise<void> => {
    const name = (await pool()).object?.metadata.name ?? '';
    const disruption = { consolidationPolicy, consolidateAfter: '30s' };
    await self.kube.patch(
      { resource: nodePools, name },
      { type: 'merge', body: { spec: { disruption } } },
    );
  };

  test('says that it is switched off, and no more once it does not ask for it', async () => {
    await ready({}, { consolidates: false });
    await policy('WhenEmptyOrUnderutilized');
    await self.until(
      'the condition to be False',
      async () => (await consolidationOf())?.status === 'False',
    );
    expect(await consolidationOf()).toMatchObject({
      reason: 'SwitchedOff',
      message: 'under-used nodes stay: consolidation is switched off (CONSOLIDATION=none)',
    });
    expect(conditionOf(conditionsIn((await pool()).object ?? {}), 'Ready')?.status).toBe('True');
    await policy('WhenEmpty');
    await self.until(
      'the condition to be True',
      async () => (await consolidationOf())?.status === 'True',
    );
  });

  test('has no such condition while it is on', async () => {
    await ready();
    await policy('Balanced');
    await counted(0);
    expect(await consolidationOf()).toBeUndefined();
  });
});

describe('the condition ConsistentStateFound', () => {
  test('is False, and an Event says why, when the node has less than was bought', async () => {
    await ready();
    const patched = self.beforePatch('nodes', async () => {
      const [claim] = await claims();
      await self.kube.patch(
        { resource: nodeClaims, name: claim?.name ?? '' },
        { type: 'merge', body: { status: { capacity: { cpu: '64' } } } },
        { subresource: 'status' },
      );
    });
    await runOne();
    await patched();
    const [claim] = await self.until('an inspected claim', async () => {
      const all = await claims();
      return conditionOf(all[0]?.conditions ?? [], 'ConsistentStateFound') !== undefined && all;
    });
    expect(conditionOf(claim?.conditions ?? [], 'ConsistentStateFound')).toMatchObject({
      status: 'False',
      reason: 'ConsistencyCheckFailed',
    });
    expect((await reasonsOf('NodeClaim')).join()).toMatch(
      /FailedConsistencyCheck.*expected 64 of resource cpu, but found 2/,
    );
  });
});
