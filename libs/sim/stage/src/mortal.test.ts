import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { type Death, Mortal } from './mortal.js';
import { podObject } from './objects.js';
import { ProcessClock } from './process-clock.js';
import { Stage } from './stage.js';

/**
 * A process that makes the pods a, b and c, one after the other. Returns the pods that exist after
 * its end or death.
 */
async function makePods(death?: Death): Promise<readonly string[]> {
  const stage = await new Stage().begin();
  const life = new Mortal({ kube: stage.kube }, death);
  const made = (async () => {
    for (const name of ['a', 'b', 'c'])
      await life.ports.kube.create(kubeResources.pods, podObject(name));
  })();
  await Promise.race([made, stage.until('death', () => life.dead(), 1_000)]);
  await stage.advance(1_000);
  stage.end();
  return stage.names(kubeResources.pods);
}

describe('a process that dies', () => {
  test.each<[string, Death | undefined, readonly string[]]>([
    ['never, has every effect', undefined, ['a', 'b', 'c']],
    ['before its second effect has had one', { at: 2, when: 'before' }, ['a']],
    ['after its second effect has had two', { at: 2, when: 'after' }, ['a', 'b']],
    ['before an effect of that name', { effect: 'create pods', when: 'before' }, []],
    ['after an effect of that name', { effect: 'create pods', when: 'after' }, ['a']],
    [
      'around an effect that it never has lives on',
      { effect: 'bind', when: 'after' },
      ['a', 'b', 'c'],
    ],
  ])('%s', async (_what, death, pods) => expect(await makePods(death)).toEqual(pods));

  test('reads and Events are no effects', async () => {
    const stage = await new Stage().begin();
    const { ports, effects } = new Mortal({ kube: stage.kube });
    await ports.kube.list(kubeResources.pods);
    await ports.kube.create(kubeResources.events, {
      metadata: { name: 'event', namespace: 'default' },
    });
    expect(effects).toEqual([]);
    stage.end();
  });
});

describe('a process that is paused', () => {
  test('neither calls nor sleeps until it wakes, and then goes on', async () => {
    const stage = await new Stage().begin();
    const life = new Mortal({ kube: stage.kube });
    const clock = new ProcessClock(stage.clock, life);
    const made = (async () => {
      await clock.sleep(1_000, stage.stop.signal);
      await life.ports.kube.create(kubeResources.pods, podObject('a'));
    })();
    life.pause();
    await stage.advance(60_000);
    expect(stage.names(kubeResources.pods)).toEqual([]);
    life.wake();
    await made;
    expect(stage.names(kubeResources.pods)).toEqual(['a']);
    stage.end();
  });

  test('has a clock of its own, which may be wrong for a while', () => {
    const clock = new ProcessClock(
      { nowMs: () => 10_000, sleep: () => Promise.resolve() },
      { paused: () => undefined },
    );
    clock.jump(-4_000);
    expect(clock.nowMs()).toBe(6_000);
    clock.set();
    expect(clock.nowMs()).toBe(10_000);
  });
});
