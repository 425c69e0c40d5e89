import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { note } from '../facts/refusal.js';
import { type CommandMember, commandStep } from './command-step.js';

const gone: CommandMember = { kind: 'gone' };
const free: CommandMember = { kind: 'free' };
const ready: CommandMember = { kind: 'marked', step: { kind: 'end' } };
const waiting: CommandMember = { kind: 'marked', step: { kind: 'wait', untilMs: 1 } };
const asking: CommandMember = { kind: 'marked', step: { kind: 'ask', pods: [], limitMs: 1 } };
const needed: CommandMember = {
  kind: 'marked',
  step: { kind: 'abandon', notes: [note('not-empty', 'it is needed')] },
};

describe('the nodes of a command', () => {
  test.each<[string, readonly CommandMember[], unknown]>([
    ['are all tainted: it goes on', [waiting, asking], { kind: 'advance', phase: 'Tainted' }],
    ['are not all tainted: it is taken back', [waiting, free], { phase: 'TakenBack' }],
    ['are none of them tainted: it is taken back', [free, free], { phase: 'TakenBack' }],
    ['have one that must stay: it is taken back', [ready, needed], { phase: 'TakenBack' }],
    ['have gone: it is forgotten', [gone, gone], { kind: 'forget' }],
  ])('at the beginning %s', (_what, members, step) =>
    expect(commandStep(undefined, members)).toMatchObject(step as object),
  );

  test.each<[string, readonly CommandMember[], unknown]>([
    ['wait for one that waits for room', [ready, waiting], { kind: 'wait' }],
    ['wait for one that asks for room', [ready, asking], { kind: 'wait' }],
    ['end once all of them can', [ready, ready], { kind: 'advance', phase: 'Ending' }],
    ['do not wait for one that is gone', [ready, gone], { kind: 'advance', phase: 'Ending' }],
    ['all stay if one must', [ready, needed], { phase: 'TakenBack', note: { code: 'not-empty' } }],
    ['all stay if one was given back', [ready, free], { note: { code: 'command-incomplete' } }],
    ['have ended once others took them', [gone, gone], { kind: 'advance', phase: 'Ending' }],
  ])('once tainted %s', (_what, members, step) =>
    expect(commandStep('Tainted', members)).toMatchObject(step as object),
  );

  test.each<[string, readonly CommandMember[], unknown]>([
    ['end, even one that is needed by now', [needed, gone], { kind: 'end' }],
    ['leave alone one that a person gave back', [free, gone], { kind: 'forget' }],
  ])('once they end %s', (_what, members, step) =>
    expect(commandStep('Ending', members)).toEqual(step),
  );

  test.each<[string, readonly CommandMember[], unknown]>([
    ['are given back, even one that could end', [ready, free], { kind: 'give-back' }],
    ['are forgotten then', [free, gone], { kind: 'forget' }],
  ])('once taken back %s', (_what, members, step) =>
    expect(commandStep('TakenBack', members)).toEqual(step),
  );

  test('never end beside one that stays', () => {
    const any = fc.constantFrom(gone, free, ready, waiting, asking, needed);
    fc.assert(
      fc.property(fc.array(any, { minLength: 2 }), (members) => {
        const step = commandStep('Tainted', members);
        if (step.kind !== 'advance' || step.phase !== 'Ending') return;
        expect(members.every((member) => member === gone || member === ready)).toBe(true);
      }),
    );
  });
});
