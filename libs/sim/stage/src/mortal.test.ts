import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from '@jest/globals';

import { type Death, Mortal } from './mortal.js';
import { podObject } from './objects.js';
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
