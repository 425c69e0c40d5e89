import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { podObject } from './objects.js';
import { Stage } from './stage.js';
import { Workloads } from './workloads.js';

const pod = (name: string) => ({ resource: kubeResources.pods, namespace: 'default', name });

/** An app of three pods that are ready, and its budget. */
async function app(minAvailable: number): Promise<{ stage: Stage; workloads: Workloads }> {
  const stage = await new Stage().begin();
  const workloads = new Workloads(stage);
  await workloads.scale('web', 3);
  await workloads.budget('web', minAvailable);
  for (const name of ['a', 'b', 'c']) {
    const object = podObject(name);
    await stage.kube.create(kubeResources.pods, {
      ...object,
      metadata: { ...object.metadata, labels: { app: 'web' } },
    });
    const status = { conditions: [{ type: 'Ready', status: 'True' }] };
    await stage.kube.patch(
      pod(name),
      { type: 'merge', body: { status } },
      { subresource: 'status' },
    );
  }
  return { stage, workloads };
}

test.each<[string, number, readonly string[], readonly string[]]>([
  ['that keeps as many pods as its budget says breaks nothing', 2, ['a'], []],
  ['breaks its budget with each pod that it loses below it', 2, ['a', 'b', 'c'], ['1', '0']],
])('an app %s', async (_what, minAvailable, lost, told) => {
  const { stage, workloads } = await app(minAvailable);
  for (const name of lost) await stage.kube.delete(pod(name));
  expect(workloads.broken.map((line) => /has (\d)/.exec(line)?.[1])).toEqual(told);
  stage.end();
});

test('an app that stays below its budget is told of once, whatever else happens to its pods', async () => {
  const { stage, workloads } = await app(3);
  await stage.kube.delete(pod('a'));
  for (const name of ['b', 'c'])
    await stage.kube.patch(pod(name), {
      type: 'merge',
      body: { metadata: { annotations: { seen: 'true' } } },
    });
  expect(workloads.broken).toHaveLength(1);
  stage.end();
});
