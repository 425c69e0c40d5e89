import { poolValue } from '@dovetail/core-api/testing';
import { Cluster } from '@dovetail/core-cluster';
import { instanceTypeValue, offeringValue } from '@dovetail/core-ec2-model/testing';
import { podValue } from '@dovetail/core-kube-model/testing';
import type { NewDecision } from '@dovetail/service-kit';
import { expect, test } from 'vitest';

import { binValue, optionOf, planValue } from '../testing/values.js';
import { reason } from './reason.js';
import { RoundReport } from './round-report.js';

const quiet = () => undefined;
/** A type whose price is published for zone `a` alone. */
const small = instanceTypeValue({
  name: 'small',
  cpuMillis: 1_000,
  memoryBytes: 1,
  offerings: [
    offeringValue('a', 'on-demand', 96_000),
    offeringValue('b', 'on-demand', 96_000, { priceEstimated: true }),
  ],
});

/** A report, and what it has told and recorded. */
function report() {
  const cluster = new Cluster();
  for (const name of ['a', 'b', 'c']) cluster.set('pod', podValue(name));
  cluster.set('pod', podValue('left', { schedulerName: 'own' }));
  const told: NewDecision[] = [];
  const events: string[] = [];
  const self = new RoundReport({
    decisions: { tell: (decision: NewDecision) => void told.push(decision) } as never,
    events: { record: ({ message }: { message: string }) => void events.push(message) } as never,
    nominations: { nominate: quiet } as never,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    metrics: { count: quiet, set: quiet, remove: quiet, observe: quiet },
    cluster,
    catalog: { revision: '', typesOf: () => new Map([['small', small]]) },
  });
  let plans = 0;
  /** Reports a plan in which each of these pods fits nowhere, for the reason of this code. */
  const unplaced = (pods: Readonly<Record<string, 'resources-too-large' | 'price-cap'>>): void => {
    plans += 1;
    const plan = planValue(`plan-${plans}`);
    const left = Object.entries(pods).map(([podUid, code]) => ({
      podUid,
      reasons: [reason(code, `${code} as of plan ${plans}`, {})],
    }));
    self.record([], [{ ...plan, plan: { ...plan.plan, unplaced: left } }], { epoch: 1, number: 1 });
  };
  /** Reports that a node of the pool was admitted for these pods, with one option in this zone. */
  const admitted = (zone: string, podUids: readonly string[] = []): void => {
    const options = [{ ...optionOf('small', 96_000), zone }];
    const bin = {
      kind: 'new-node',
      plan: planValue('plan'),
      binId: 'bin',
      podUids,
      claimName: 'default-1',
      pool: poolValue('default'),
      bin: binValue('bin', [], { options }),
      options,
      promise: {} as never,
    } as const;
    self.record([bin], [], { epoch: 1, number: 1 });
  };
  const decisions = () => told.map(({ objects = [] }) => objects.map(({ name }) => name).join());
  return { unplaced, admitted, told, decisions, events };
}

test('pods that fit nowhere are told once, and again when their reasons change', () => {
  const { unplaced, decisions, events } = report();
  const pods = { a: 'resources-too-large', b: 'resources-too-large' } as const;
  for (let times = 0; times < 5; times += 1) unplaced(pods);
  expect(decisions()).toEqual(['a,b']);
  unplaced({ ...pods, c: 'resources-too-large' });
  unplaced({ ...pods, a: 'price-cap', c: 'resources-too-large' });
  expect(decisions()).toEqual(['a,b', 'c', 'a']);
  // The recorder of Events counts repeats by itself.
  expect(events).toHaveLength(5 * 2 + 3 + 3);
});

test.each([
  ['is not published', 'b', true],
  ['is published', 'a', false],
])(
  'the decision to admit a node whose price %s says so, as its launch does',
  (_what, zone, estimated) => {
    const { admitted, told } = report();
    admitted(zone);
    expect(told).toMatchObject([
      { kind: 'admit', priceMicrosPerHour: 96_000, priceEstimated: estimated },
    ]);
  },
);

test('the decision to admit a node names the pods that another scheduler binds', () => {
  const { admitted, told } = report();
  admitted('a', ['a', 'left']);
  expect(told[0]?.reasons).toMatchObject([
    { code: 'left-to-scheduler', values: { scheduler: 'own', pods: '1' } },
  ]);
});
