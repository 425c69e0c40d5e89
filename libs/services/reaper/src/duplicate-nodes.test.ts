import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  cluster,
  gone,
  reap,
  replacements,
  retirementOn,
  started,
  stateOf,
  tainted,
} from './testing/current-cluster.js';

const { nodes, pods } = kubeResources;

/**
 * Creates a Node that carries the provider ID of n1, as after a change of the machine's host name.
 * Its UID comes before or after that of n1, because a look-up by provider ID finds UIDs in order.
 */
async function duplicate(uid: 'earlier' | 'later'): Promise<string> {
  const real = await cluster.kube.get({ resource: nodes, name: 'n1' });
  if (real === undefined) throw new Error('n1 is gone');
  const { providerID } = real['spec'] as { readonly providerID: string };
  for (let tries = 0; tries < 64; tries += 1) {
    const name = `other-${tries}`;
    const made = await cluster.kube.create(nodes, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: { ...real.metadata.labels, 'kubernetes.io/hostname': name } },
      spec: { providerID },
      status: real['status'],
    } as KubeObject);
    const isEarlier = (made.metadata.uid ?? '') < (real.metadata.uid ?? '');
    if (isEarlier === (uid === 'earlier')) return name;
    await cluster.kube.delete({ resource: nodes, name }, {});
  }
  throw new Error('no such UID');
}

const uids = ['earlier', 'later'] as const;

describe.each(uids)('a claim whose provider ID a second Node of an %s UID carries', (uid) => {
  test.each(['WhenEmpty', 'expired', 'drifted'])(
    'ends no instance and moves no pod: %s',
    async (cause) => {
      await started();
      const { instanceId } = await cluster.node('n1', {
        ...(cause === 'expired' ? { expireAfterMs: 30_000 } : {}),
      });
      await cluster.scale('web', 2);
      await cluster.pass(2);
      await duplicate(uid);
      if (cause === 'drifted') await cluster.drift('n1');
      reap();
      await cluster.pass(180);
      expect([stateOf(instanceId), cluster.broken, tainted('n1')]).toEqual(['running', [], false]);
      expect(cluster.events('DisruptionBlocked')).toContainEqual(
        expect.stringMatching(/^several Nodes carry the provider ID aws:.*: .*n1/),
      );
    },
  );

  test('ends as before once a person has deleted the wrong one', async () => {
    await started();
    const { instanceId } = await cluster.node('n1');
    const name = await duplicate(uid);
    reap();
    await cluster.pass(120);
    expect(stateOf(instanceId)).toBe('running');
    await cluster.kube.delete({ resource: nodes, name }, {});
    expect(await cluster.pass(120, gone('claim-n1'))).toBe(true);
  });

  test('is given back when the second appears while its node expires', async () => {
    await started();
    const { instanceId } = await cluster.node('n1', { expireAfterMs: 60_000 });
    await cluster.scale('web', 1);
    const made = replacements({ afterMs: 20_000 });
    reap();
    await cluster.pass(70);
    expect([retirementOn('n1')?.cause, made.requests.length]).toEqual(['expired', 1]);
    await duplicate(uid);
    await cluster.pass(600);
    expect([stateOf(instanceId), retirementOn('n1'), tainted('n1')]).toEqual([
      'running',
      undefined,
      false,
    ]);
  });

  test('ends when EC2 interrupts it, with a drain of both', async () => {
    await started();
    const { instanceId } = await cluster.node('n1', { capacityType: 'spot' });
    const name = await duplicate(uid);
    await cluster.kube.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'there', namespace: 'default', labels: { app: 'there' } },
      spec: { nodeName: name, containers: [{ name: 'main', image: 'none' }] },
    } as KubeObject);
    reap();
    await cluster.pass(5);
    cluster.twin.interrupt(instanceId);
    expect(await cluster.pass(110, gone('claim-n1'))).toBe(true);
    // No kubelet of the stage runs the pods of this Node, so that the pod goes on ending.
    const { deletionTimestamp } = cluster.find(pods, 'there')?.metadata ?? {};
    expect([tainted(name), deletionTimestamp]).toEqual([true, expect.any(String)]);
  });
});
