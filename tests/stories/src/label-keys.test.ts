import { lookUp } from '@dovetail/core-invariant';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { StoryStage } from './story-stage.js';

/**
 * Keys that tenants choose, through all four services and the twin's scheduler. Kubernetes takes
 * `constructor` and `toString` for labels like any other, and no node here has one.
 */
const { ec2NodeClasses, namespaces, nodeClaims, nodePools, nodes, pods } = kubeResources;
const never = { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' };
const tenants = { key: 'tenants', effect: 'NoSchedule' };
type Spec = Readonly<Record<string, unknown>>;
type PodFields = KubeObject & { readonly status?: { readonly phase?: string } };

let stage: StoryStage;
beforeEach(async () => {
  stage = await new StoryStage().begin();
  await stage.kube.create(ec2NodeClasses, nodeClassObject());
  await stage.kube.create(nodePools, nodePoolObject('default', { disruption: never }));
  await stage.kube.create(
    nodePools,
    nodePoolObject('tenants', { disruption: never, node: { taints: [tenants] } }),
  );
  await stage.kube.create(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'tenant' },
  });
  stage.start('services');
  await stage.pass(30);
});
afterEach(() => stage.end());

const podOf = (name: string, spec: Spec = {}, namespace = 'default'): KubeObject =>
  podObject(name, { cpu: '100m', memory: '128Mi', metadata: { namespace }, spec });

async function created(made: readonly KubeObject[]): Promise<void> {
  for (const pod of made) await stage.kube.create(pods, pod);
  await stage.pass(120);
}
const othersOf = (prefix: string): readonly KubeObject[] =>
  Array.from({ length: 10 }, (_, index) => podOf(`${prefix}-${String(index)}`));
const running = (): readonly string[] =>
  (stage.list(pods) as readonly PodFields[])
    .filter(({ status }) => status?.phase === 'Running')
    .map(({ metadata }) => metadata.name);

/** Keeps away from all pods of all namespaces over the key. */
const apartOver = (topologyKey: string): Spec => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey, namespaceSelector: {}, labelSelector: {} },
    ],
  },
});
const withoutLabel = (key: string): Spec => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'DoesNotExist' }] }],
    },
  },
});

describe.each(['rack', 'constructor', 'toString', 'valueOf', 'hasOwnProperty'])(
  'the label key %s',
  (key) => {
    test('as topology key of a running pod keeps no pod of another pool from a node', async () => {
      const apart = {
        tolerations: [tenants],
        nodeSelector: { 'karpenter.sh/nodepool': 'tenants' },
        affinity: apartOver(key),
      };
      await created([podOf('apart', apart, 'tenant')]);
      expect(running()).toEqual(['apart']);
      await created(othersOf('others'));
      expect(running()).toHaveLength(11);
    });

    test('in the affinity of a pending pod keeps no other pod from its node', async () => {
      const picky = { affinity: { ...withoutLabel(key), ...apartOver(key) } };
      await created([podOf('picky', picky, 'tenant'), ...othersOf('others')]);
      expect(running()).toHaveLength(11);
    });

    test('of a pool is what the pods of its nodes select', async () => {
      const pool = nodePoolObject('labelled', { disruption: never });
      const spec = pool['spec'] as { readonly template: object };
      const template = { ...spec.template, metadata: { labels: { [key]: 'a' } } };
      await stage.kube.create(nodePools, { ...pool, spec: { ...spec, template } });
      await created([podOf('picky', { nodeSelector: { [key]: 'a' } }), podOf('other')]);
      expect(running()).toEqual(['other', 'picky']);
      const labelled = stage.list(nodes).map(({ metadata }) => lookUp(metadata.labels, key));
      expect(labelled).toContain('a');
    });

    test('keeps no pod from room that is there', async () => {
      await created(othersOf('first'));
      const before = stage.list(nodeClaims).length;
      const picky = { affinity: { ...withoutLabel(key), ...apartOver(key) } };
      await created([podOf('picky', picky, 'tenant')]);
      expect(running()).toHaveLength(11);
      expect(stage.list(nodeClaims)).toHaveLength(before);
    });
  },
);
