import { createHash } from 'node:crypto';

import { type Pool } from '@dovetail/core-api';
import { poolValue } from '@dovetail/core-api/testing';
import { type CatalogView, ChurnGuard, Cluster, nodesNow } from '@dovetail/core-cluster';
import { plainTypeValue, typesByName } from '@dovetail/core-ec2-model/testing';
import { podValue } from '@dovetail/core-kube-model/testing';
import type { NewNode } from '@dovetail/core-scheduling';

import { planValue } from '../../testing/values.js';
import { Judge } from '../judge.js';
import type { CheckBin, JudgedBin } from '../judged.js';
import { AdmissionMemory } from '../ledger.js';

export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

export const pool = poolValue('default');

const types = typesByName(plainTypeValue('small', 2000), plainTypeValue('large', 8000));

export const catalog: CatalogView = { revision: '1', typesOf: () => types };

/** No type was bought in vain. */
export const noVainTypes = { usable: <T>(_pool: unknown, options: readonly T[]) => options };

/** No pool buys in vain. */
export const noVainPools = { holdOf: () => undefined, isFailing: () => false };

export const clusterOf = (change: Partial<Pool> = {}): Cluster => {
  const cluster = new Cluster();
  cluster.set('pool', { ...pool, ...change });
  for (const uid of ['a', 'b', 'c', 'd']) cluster.set('pod', podValue(uid));
  return cluster;
};

export const judged = (
  cluster: Cluster,
  newNodes: readonly NewNode[],
  check: CheckBin = () => [],
  see: (bin: JudgedBin) => void = () => undefined,
) => {
  const judge = new Judge(
    {
      cluster,
      catalog,
      memory: new AdmissionMemory(),
      churn: new ChurnGuard(cluster),
      vainTypes: noVainTypes,
      vainPools: noVainPools,
      check,
      sha256Hex,
    },
    { planAgeMaxMs: 60_000, promiseMs: 1, replacementPromiseMs: 1 },
    { admission: { epoch: 1, number: 2 }, nowMs: 1_000, nodes: nodesNow(cluster, catalog, 1_000) },
  );
  const plan = planValue('plan');
  return [...judge.judge({ ...plan, plan: { ...plan.plan, newNodes } })].map((each) => {
    see(each);
    return each.kind === 'refused'
      ? `${each.binId} ${each.reasons[0]?.code ?? ''}`
      : each.kind === 'new-node'
        ? `${each.binId} ${each.options.map((option) => option.instanceType).join('|')}`
        : each.kind;
  });
};
