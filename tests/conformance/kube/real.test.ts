import { describe, test } from 'vitest';

import { type KubeUnderTest, startReal } from './testing/kube-under-test.js';
import { kubeConformance } from './testing/suite.js';

const real = await startReal();

if ('unavailable' in real) {
  process.stdout.write(
    `LEFT OUT: the real control plane, which the twin is held against: ${real.unavailable}\n`,
  );
  test.skip(`the real control plane: ${real.unavailable}`, () => undefined);
} else {
  const world: KubeUnderTest = real;
  describe('the real control plane', () => kubeConformance(() => Promise.resolve(world)));
}
