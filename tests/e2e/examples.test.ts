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
    await at.kubectl('apply', '-f', join(examples, 'mixed'));
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

  // The real control plane of the tests has no controller for either kind, and no measurements.
  test.runIf(world === 'twin')(
    'load: the shop gets the pods that its load needs, and a report runs when it is asked for',
    async () => {
      await at.kubectl('apply', '-f', join(examples, 'load.yaml'));
      await running('shop', 12);
      await at.kubectl('create', 'job', 'report-now', '--from=cronjob/report');
      await running('report-now', 1);
      // The number is that of the autoscaler's last look, up to 15 s ago.
      await eventually('twelve pods at 55 %', async () =>
        /shop\s+Deployment\/shop\s+cpu: 55%\/60%\s+2\s+20\s+12\s/.test(
          await at.kubectl('get', 'hpa', 'shop'),
        ),
      );
      expect(await at.kubectl('get', 'cronjob', 'report')).toMatch(
        /\*\/5 \* \* \* \*\s+<none>\s+False/,
      );
    },
  );
});
