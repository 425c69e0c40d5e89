import { describe, expect, test } from 'vitest';

import { binValue, optionOf } from '../testing/values.js';
import { reason } from './reason.js';
import { RefusedPods } from './refused-pods.js';
import { clusterOf, judged } from './testing/judging.js';

const broken = (code: string, podUid?: string) =>
  reason('constraint-broken', 'a rule is broken', {
    code,
    where: 'bin',
    ...(podUid === undefined ? {} : { podUid }),
  });
const labels = (podUid?: string) => broken('requirement-mismatch', podUid);
const full = reason('node-full', 'the node is full', {});

describe('a pod is held', () => {
  test.each<[string, readonly (readonly ReturnType<typeof broken>[])[], readonly string[]]>([
    ['not after one refusal', [[labels('a')]], []],
    ['after two refusals by one rule', [[labels('a')], [labels('a')]], ['a']],
    ['not after two refusals by two rules', [[labels('a')], [broken('host-port', 'a')]], []],
    ['not for what others break', [[labels('a')], [labels('b')]], []],
    ['not if no pod is at fault', [[labels()], [labels()]], []],
    ['not if the bin is refused for something else', [[full], [full]], []],
    ['beside others that break a rule, too', [[labels('a')], [labels('a'), labels('b')]], ['a']],
    ['once, though a bin breaks the rule twice', [[labels('a'), labels('a')]], []],
  ])('%s', (_what, refusals, held) => {
    const pods = new RefusedPods();
    expect(refusals.map((reasons) => pods.refused(reasons)).at(-1)).toEqual(held);
  });

  test('anew only after two more refusals, once it had room', () => {
    const pods = new RefusedPods();
    pods.refused([labels('a')]);
    pods.admitted(['a']);
    expect([pods.refused([labels('a')]), pods.refused([labels('a')])]).toEqual([[], ['a']]);
  });
});

test('a bin is refused for the pod that breaks the rule, and holds that pod the second time', () => {
  const bins = ['b-1', 'b-2'].map((id) =>
    binValue(id, ['a', 'b'], { options: [optionOf('small', 1)] }),
  );
  const judgedBins: unknown[] = [];
  const outcome = judged(
    clusterOf(),
    bins,
    () => [{ code: 'host-port', where: 'bin', message: 'the port is taken', podUid: 'b' }],
    (bin) => judgedBins.push(bin.kind === 'refused' ? bin.heldPodUids : bin.kind),
  );
  expect(outcome).toEqual(['b-1 constraint-broken', 'b-2 constraint-broken']);
  expect(judgedBins).toEqual([[], ['b']]);
});
