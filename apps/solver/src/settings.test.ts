import { defaultPlanOptions } from '@dovetail/core-scheduling';
import { defaultSizing } from '@dovetail/core-scheduling/sizing';
import { readSettings, type SettingsOf } from '@dovetail/runtime';
import { defaultSolverConfig } from '@dovetail/service-solver';
import { describe, expect, test } from 'vitest';

import { type PlanRules, planRulesOf, solverConfigOf, solverSettings } from './settings.js';

function settingsOf(env: Readonly<Record<string, string>>): SettingsOf<typeof solverSettings> {
  const read = readSettings({ name: 'solver', purpose: 'plans' }, solverSettings, {
    env: { CLUSTER_NAME: 'lab', ...env },
    args: [],
  });
  if (read.kind === 'help') throw new Error('no help was asked for');
  return read.settings;
}

describe('without settings', () => {
  test('plans are made by the default rules', () =>
    expect({ ...defaultPlanOptions, ...planRulesOf(settingsOf({})) }).toEqual({
      ...defaultPlanOptions,
      ...defaultSizing,
    }));
  test('the times are the default ones', () =>
    expect(solverConfigOf(settingsOf({}))).toEqual(defaultSolverConfig));
});

test.each<[string, string, Partial<PlanRules>]>([
  ['PREFERENCE_POLICY', 'Ignore', { preferencePolicy: 'Ignore' }],
  ['MIN_VALUES_POLICY', 'BestEffort', { minValuesPolicy: 'BestEffort' }],
  ['HOSTNAME_SPREAD', 'strict', { hostnameSpread: 'strict' }],
  ['NODE_CHARGE', '0.5', { nodeChargeMicrosPerHour: 500_000 }],
  ['FEWER_NODES_WITHIN', '2.5', { fewerNodesPermille: 25 }],
  ['ASSUMED_REQUESTS', 'cpu=1,memory=1Gi', { assumedRequests: { cpu: 1_000, memory: 1024 ** 3 } }],
])('%s=%s changes the rules of planning', (name, value, change) =>
  expect(planRulesOf(settingsOf({ [name]: value }))).toEqual({
    ...planRulesOf(settingsOf({})),
    ...change,
  }),
);

test.each<[string, string, Partial<typeof defaultSolverConfig>]>([
  ['PLAN_BUDGET', '1s', { budgetMs: 1_000 }],
  ['REQUEST_BUDGET_MAX', '5s', { requestBudgetMaxMs: 5_000 }],
  ['BOUND_TIME', '0s', { boundMs: 0 }],
])('%s=%s changes the times', (name, value, change) =>
  expect(solverConfigOf(settingsOf({ [name]: value }))).toEqual({
    ...defaultSolverConfig,
    ...change,
  }),
);

describe.each(['BOUND_TIME', 'PLAN_BUDGET', 'REQUEST_BUDGET_MAX'])('%s', (name) => {
  test.each(['31s', '30001ms', '1h', '-1s', '5', '1.5s'])('=%s is refused', (value) =>
    expect(() => settingsOf({ [name]: value })).toThrow(
      new RegExp(`${name}\\) is "${value}": give `),
    ),
  );
  test.each(['0', '0s', '30s'])('=%s is accepted', (value) =>
    expect(() => settingsOf({ [name]: value })).not.toThrow(),
  );
});
