import { kubeResources } from '@dovetail/core-ports';
import { afterAll, beforeAll } from 'vitest';

import { admission } from './admission.js';
import { apiRules } from './api-rules.js';
import { customResources } from './custom-resources.js';
import type { KubeUnderTest } from './kube-under-test.js';
import { kubectlUse } from './kubectl-use.js';
import { kubectlValidation } from './kubectl-validation.js';
import { pages } from './pages.js';
import { workloads } from './workloads.js';

/** The context of a group of tests: the world, and for each test a namespace of its own. */
export type Context = {
  readonly world: () => KubeUnderTest;
  readonly namespace: () => Promise<string>;
};

/**
 * Looks again until `check` returns a value, or the deadline passes. The error then has the last
 * failure or value.
 */
export async function eventually<T>(
  look: () => Promise<T>,
  holds: (value: T) => boolean,
  deadlineMs = 120_000,
): Promise<T> {
  const endMs = Date.now() + deadlineMs;
  for (;;) {
    const value = await look();
    if (holds(value) || Date.now() > endMs) return value;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}

/** Runs every test against one world, which `start` makes. */
export function kubeConformance(start: () => Promise<KubeUnderTest>): void {
  let world: KubeUnderTest | undefined;
  let made = 0;
  beforeAll(async () => {
    world = await start();
  });
  afterAll(async () => {
    await world?.stop();
  });
  const current = (): KubeUnderTest => {
    if (world === undefined) throw new Error('the world did not start');
    return world;
  };
  const namespace = async (): Promise<string> => {
    made += 1;
    const name = `test-${made}`;
    await current().kube.create(kubeResources.namespaces, { metadata: { name } });
    return name;
  };
  const context = { world: current, namespace };
  apiRules(context);
  admission(context);
  customResources(context);
  workloads(context);
  pages(context);
  kubectlUse(context);
  kubectlValidation(context);
}
