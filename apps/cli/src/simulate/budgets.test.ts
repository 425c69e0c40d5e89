import { expect, test } from 'vitest';

import { budgetOf } from './budgets.js';
import { type Manifest, nodePool, pod, simulate } from './testing/manifests.js';

const budget = (apiVersion: string, spec: object): Manifest => ({
  apiVersion,
  kind: 'PodDisruptionBudget',
  metadata: { name: 'b', namespace: 'default', uid: 'u' },
  spec: { minAvailable: 1, ...spec },
});
const web = { matchLabels: { app: 'web' } };

test.each([
  ['policy/v1', { selector: {} }, 'every pod'],
  ['policy/v1', {}, 'no pod'],
  ['policy/v1beta1', { selector: {} }, 'no pod'],
  ['policy/v1beta1', { selector: { matchLabels: {}, matchExpressions: [] } }, 'no pod'],
  ['policy/v1beta1', { selector: web }, 'some pods'],
  [
    'policy/v1beta1',
    { selector: { matchExpressions: [{ key: 'app', operator: 'Exists' }] } },
    'some pods',
  ],
])('a budget of %s with %j is about %s', (apiVersion, spec, whom) => {
  const read = budgetOf(budget(apiVersion, spec));
  const selector = read.ok ? read.value.selector : 'not read';
  const shown =
    selector === undefined
      ? 'no pod'
      : JSON.stringify(selector).includes('app')
        ? 'some pods'
        : 'every pod';
  expect([read.ok, shown]).toEqual([true, whom]);
});

test.each([
  ['policy/v1beta1', 0],
  ['policy/v1', 0],
  ['policy/v1alpha1', 4],
])('a simulation with a budget of %s ends with code %i', async (apiVersion, code) => {
  expect(
    (await simulate([nodePool(), budget(apiVersion, { selector: web }), pod('a', '1')])).code,
  ).toBe(code);
});
