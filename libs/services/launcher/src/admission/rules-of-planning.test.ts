import { kubeResources } from '@dovetail/core-ports';
import type { PlanOptions } from '@dovetail/core-scheduling';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { afterEach, expect, test } from 'vitest';

import type { LauncherConfig } from '../config.js';
import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});

/** No type of the stage is sold under the last name, so that the three cannot be kept. */
const threeTypes = {
  key: 'node.kubernetes.io/instance-type',
  operator: 'In',
  values: ['m5.large', 'm5.xlarge', 'm5.unknown'],
  minValues: 3,
};
const relaxed = {
  pool: { requirements: [threeTypes] },
  pods: ['a'],
  spec: {},
  options: { minValuesPolicy: 'BestEffort' },
} as const;

/** Twelve pods fit on few nodes; with the emptiest node counted as 0 there is one on each. */
const spread = {
  pool: {},
  pods: [...'abcdefghijkl'],
  spec: {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'web' } },
      },
    ],
  },
  options: { hostnameSpread: 'balanced' },
} as const;

type Case = {
  readonly pool: object;
  readonly pods: readonly string[];
  readonly spec: object;
  readonly options: Partial<PlanOptions>;
};

test.each<[string, Case, Partial<LauncherConfig>, boolean]>([
  ['with relaxed minValues, by a launcher that is strict', relaxed, {}, false],
  ['with relaxed minValues, by one that is not', relaxed, { minValuesPolicy: 'BestEffort' }, true],
  [
    'of a spread by whole nodes, by a launcher that is strict',
    spread,
    { hostnameSpread: 'strict' },
    false,
  ],
  ['of a spread by whole nodes, by one that is not', spread, {}, true],
])('a plan %s', async (_what, { pool, pods, spec, options }, config, admitted) => {
  self = await launcherStage();
  await self.kube.create(kubeResources.ec2NodeClasses, nodeClassObject());
  await self.kube.create(kubeResources.nodePools, nodePoolObject('general', { node: pool }));
  self.launcher('one', { config });
  await self.planningPossible();
  for (const name of pods)
    await self.kube.create(
      kubeResources.pods,
      podObject(name, { cpu: '100m', labels: { app: 'web' }, spec }),
    );
  await self.until(
    "the pods in the planner's view",
    () => self.planner.cluster.pods.size === pods.length,
  );
  const { plan } = await self.planner.planFor(pods, { options });
  expect(plan.unplaced).toEqual([]);
  await self.until('a verdict', () =>
    self.log.entries.some(({ name }) => name === `decision-${admitted ? 'admit' : 'refuse'}`),
  );
  const claims = await self.kube.list(kubeResources.nodeClaims);
  expect(claims.length > 0).toBe(admitted);
});
