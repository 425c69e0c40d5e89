import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { kubeResources } from '@dovetail/core-ports';
import { labelOf, ourNodes, pods, runningPods } from '@dovetail/test-support/cluster';
import { poolReady } from '@dovetail/test-support/placement';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The examples, applied as they are in the lab whose role and tags they name. */
const examples = join(import.meta.dirname, '..', '..', 'examples');

describe.each(await worlds())('the examples on the %s world', (world) => {
  let at: TestWorld;
  beforeAll(async () => {
    at = await openWorld({ world });
  });
  afterAll(async () => at?.close());

  /** Waits until so many pods with this `app` label, or of this Job, run. */
  const running = (name: string, count: number) =>
    eventually(`${count} running pods of ${name}`, async () => {
      const found = (await runningPods(at, 'default')).filter(
        (pod) => labelOf(pod, 'app') === name || labelOf(pod, 'job-name') === name,
      );
      return found.length === count && found;
    });
  const nodeNamed = async (name: string | undefined) =>
    (await ourNodes(at)).find(({ metadata }) => metadata.name === name);

  test('web: its pods are spread over the zones, the cache is apart, and each node has an agent', async () => {
    await at.kubectl('apply', '-f', join(examples, 'web'));
    await poolReady(at);
    const zones = new Map<string, number>();
    for (const { spec } of await running('web', 12)) {
      const node = await nodeNamed(spec.nodeName);
      const zone = node === undefined ? '' : labelOf(node, 'topology.kubernetes.io/zone');
      zones.set(zone ?? '', (zones.get(zone ?? '') ?? 0) + 1);
    }
    const counts = [...zones.values()];
    expect(counts.length).toBeGreaterThanOrEqual(3);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    const hosts = (await running('cache', 3)).map(({ spec }) => spec.nodeName);
    expect(new Set(hosts).size).toBe(3);
    await running('agent', (await ourNodes(at)).length);
  });

  test('mixed: the legacy pool and the one with GPUs hold what fits, and one pod is told why it waits', async () => {
    const workloads = await readFile(join(examples, 'mixed', 'workloads.yaml'), 'utf8');
    const [node = '', ...rest] = workloads.split('\n---\n');
    expect(node).toContain('leave it out where you apply the rest');
    const applied = join(at.lab.options.dir, 'mixed.yaml');
    await writeFile(applied, rest.join('\n---\n'));
    await at.kubectl('apply', '-f', join(examples, 'mixed', 'pools.yaml'), '-f', applied);
    await running('api', 6);
    for (const { spec } of await running('inference', 2)) {
      const host = await nodeNamed(spec.nodeName);
      expect(host?.metadata.labels).toMatchObject({ 'karpenter.sh/nodepool': 'gpu' });
    }
    const [trainer] = (await pods(at, 'default')).filter(
      (pod) => labelOf(pod, 'job-name') === 'trainer',
    );
    expect(trainer?.status?.phase).toBe('Pending');
    await eventually('an Event that names the taint', async () =>
      (await at.list(kubeResources.events)).some(
        ({ involvedObject, message }) =>
          (involvedObject as { name?: string } | undefined)?.name === trainer?.metadata.name &&
          String(message).includes('nvidia.com/gpu'),
      ),
    );
  });
});
