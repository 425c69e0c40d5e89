import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { cluster, reap, started } from '../testing/current-cluster.js';

const { pods } = kubeResources;
const invalid = 'InvalidDoNotDisruptAnnotation';
const until = 'DoNotDisruptUntil';

/** A pod on a node, with this annotation; it has started. */
async function annotated(value: string): Promise<string> {
  await started({ consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' });
  await cluster.node('n1');
  await cluster.scale('web', 1);
  await cluster.pass(5);
  const [pod] = cluster.names(pods);
  await annotate(pod ?? '', value);
  return pod ?? '';
}

const annotate = (name: string, value: string) =>
  cluster.kube.patch(
    { resource: pods, namespace: 'default', name },
    {
      type: 'merge',
      body: { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': value } } },
    },
  );

test.each([
  ['a text that says nothing', 'yes', invalid, 'is "yes" and protects nothing'],
  ['a duration of nothing', '0s', invalid, 'is "0s" and protects nothing'],
  ['a duration', '4h', until, 'is protected from voluntary disruption until 20'],
])('%s in do-not-disrupt is told on the pod', async (_what, value, reason, message) => {
  await annotated(value);
  reap();
  await cluster.pass(3);
  expect(cluster.events(reason)).toHaveLength(1);
  expect(cluster.events(reason).join()).toContain(message);
});

test.each(['true', 'false'])('nothing is told of do-not-disrupt "%s"', async (value) => {
  await annotated(value);
  reap();
  await cluster.pass(3);
  expect([cluster.events(invalid), cluster.events(until)]).toEqual([[], []]);
});

test('an annotation that changes is told again', async () => {
  const pod = await annotated('true');
  reap();
  await cluster.pass(3);
  await annotate(pod, 'for ever');
  await cluster.pass(3);
  await annotate(pod, '1h');
  await cluster.pass(3);
  expect([cluster.events(invalid).length, cluster.events(until).length]).toEqual([1, 1]);
});
