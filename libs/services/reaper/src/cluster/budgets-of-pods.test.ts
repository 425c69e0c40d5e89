import type { LabelSelector, PodDisruptionBudget } from '@dovetail/core-kube-model';
import { selectorMatches } from '@dovetail/core-kube-model';
import { podValue } from '@dovetail/core-kube-model/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { ReaperCluster } from './reaper-cluster.js';

const selecting = (app: string): LabelSelector => ({
  requirements: [{ key: 'app', operator: 'In', values: [app] }],
});
const budget = (
  uid: string,
  selector: LabelSelector,
  more: Partial<PodDisruptionBudget> = {},
): PodDisruptionBudget => ({
  ...{ uid, name: uid, namespace: 'default', resourceVersion: '1', selector },
  ...{ disruptionsAllowed: 1, unhealthyPodEvictionPolicy: 'IfHealthyBudget' as const },
  ...more,
});
const podOf = (app: string, namespace = 'default') =>
  podValue(`${namespace}-${app}`, { namespace, labels: { app } });

const step = fc.record({
  uid: fc.constantFrom('b1', 'b2', 'b3'),
  app: fc.constantFrom('web', 'api', undefined),
  namespace: fc.constantFrom('default', 'other'),
  disruptionsAllowed: fc.nat(2),
});

test('the budgets of a pod are those that select it now, whatever budgets come, change and go', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const cluster = new ReaperCluster(() => 0, 'replace');
      const pods = ['default', 'other'].flatMap((namespace) =>
        ['web', 'api', 'db'].map((app) => podOf(app, namespace)),
      );
      for (const [index, { uid, app, namespace, disruptionsAllowed }] of steps.entries()) {
        const more = { namespace, disruptionsAllowed, resourceVersion: String(index + 1) };
        if (app === undefined) cluster.delete('pdb', uid);
        else cluster.set('pdb', budget(uid, selecting(app), more));
        for (const pod of pods) {
          const there = [...cluster.pdbs.values()].filter(
            (one) => one.namespace === pod.namespace && selectorMatches(one.selector, pod.labels),
          );
          expect(new Set(cluster.budgetsOf(pod))).toEqual(new Set(there));
        }
      }
    }),
    { seed: 1 },
  );
});

test('a budget that allows other evictions is not compared with pods again', () => {
  const cluster = new ReaperCluster(() => 0, 'replace');
  let looks = 0;
  const counted = (selector: LabelSelector): LabelSelector => ({
    ...selector,
    get requirements() {
      looks += 1;
      return selector.requirements;
    },
  });
  for (const uid of ['b1', 'b2']) cluster.set('pdb', budget(uid, counted(selecting(uid))));
  const [selected] = [podOf('b1')];
  expect(cluster.budgetsOf(selected)).toMatchObject([{ uid: 'b1', disruptionsAllowed: 1 }]);
  const first = looks;
  const changed = budget('b1', selecting('b1'), { disruptionsAllowed: 0, resourceVersion: '2' });
  cluster.set('pdb', changed);
  looks = 0;
  for (let times = 0; times < 100; times += 1)
    expect(cluster.budgetsOf(podOf('b1'))).toEqual([changed]);
  expect([first > 0, looks]).toEqual([true, 0]);
});
