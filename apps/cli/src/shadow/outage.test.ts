import { kubeResources } from '@dovetail/core-ports';
import { podObject } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import { Cable, claimObject, endShadow, launch, startShadow } from './testing/shadowing.js';

const { nodeClaims, pods } = kubeResources;

describe('an outage', () => {
  test.each([
    ['all', undefined],
    ['pods', [pods]],
  ] as const)(
    'of the watches of %s leaves out its rounds, and is told once',
    async (_which, cut) => {
      const cable = new Cable(cut);
      const shadow = await startShadow({ output: 'table' }, cable.around);
      const { stage, said } = shadow;
      const { clock, kube } = stage;
      cable.cut();
      await clock.advance(10_000);
      const waiting = ['a', 'b'].map((name) => kube.create(pods, podObject(name, { cpu: '9' })));
      await kube.create(nodeClaims, claimObject('general-1'));
      await launch(kube, 'general-1', 'm5.8xlarge');
      await clock.advance(20_000);
      for (const { metadata } of await Promise.all(waiting)) {
        const { name, namespace = '', uid = '' } = metadata;
        await kube.bind({ name, namespace, uid }, 'general-1');
      }
      cable.mend(kubeResources.runtimeClasses);
      await clock.advance(20_000);
      expect(said.out).toBe('');
      expect(said.err.match(/failed/g)).toEqual(['failed']);
      expect(said.err).toMatch(
        /again after 3\d seconds; not compared: 1 launch and 0 ends of that time\n$/,
      );
      await kube.create(pods, podObject('c'));
      await clock.advance(2_000);
      await kube.create(nodeClaims, claimObject('general-22'));
      await launch(kube, 'general-22', 'm5.large');
      await stage.until('a comparison', () => said.out !== '', 60_000);
      expect(said.out).toMatch(/1 pod: /);
      await endShadow(shadow);
      expect(said.err).toMatch(
        /1 launch and 0 ends compared: .*; not compared: 1 launch and 0 ends\n$/,
      );
    },
  );
});

test('launches for which no pod waited save nothing, and are left out', async () => {
  const shadow = await startShadow();
  const { stage, said } = shadow;
  const { kube } = stage;
  await kube.create(nodeClaims, claimObject('general-1'));
  await launch(kube, 'general-1', 'm5.large');
  await stage.until('the round', () => said.err.includes('no pod waited'), 60_000);
  expect(said.out).toBe('');
  await endShadow(shadow);
});
