import { annotations, tags } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-cluster';
import { present } from '@dovetail/core-invariant';
import { type KubeApi, kubeResources, type ObjectRef } from '@dovetail/core-ports';
import { hash, podObject } from '@dovetail/sim-stage';
import { afterEach, expect, test } from 'vitest';

import { claimFrom } from '../cluster/readings.js';
import { kubeWith, type LauncherStage, launcherStage } from '../testing/launcher-stage.js';
import { intentOf, parseIntent, renderIntent } from './intent.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { pods, nodeClaims } = kubeResources;
const sha256Hex = (text: string): string => hash.sha256Hex(text);

/** The intent that a patch is about to write; undefined for another patch. */
const intentIn = (body: unknown): string | undefined =>
  (body as { metadata?: { annotations?: Record<string, string> } }).metadata?.annotations?.[
    annotations.launchIntent
  ];

/**
 * Plans these pods, each for a node of its own. `act` is done before the n-th intent (from 1) is
 * written to its claim.
 */
async function launching(
  names: readonly string[],
  nth: number,
  act: (ref: ObjectRef, text: string) => Promise<unknown>,
): Promise<void> {
  self = await launcherStage();
  await self.readyPool();
  const ports = self.ports();
  let writes = 0;
  const patch: KubeApi['patch'] = async (ref, change, ...rest) => {
    const text = intentIn(change.body);
    if (text !== undefined && (writes += 1) === nth) await act(ref, text);
    return ports.kube.patch(ref, change, ...rest);
  };
  self.launcher('one', { ports: { ...ports, kube: kubeWith(ports.kube, { patch }) } });
  await self.planningPossible();
  for (const name of names) await self.kube.create(pods, podObject(name, { cpu: '12' }));
  await self.until('the pods in view', () => self.planner.cluster.pods.size === names.length);
  await self.planner.planFor(names);
}

const paired = (count: number): Promise<unknown> =>
  self.until(`${String(count)} claims with their instances`, () => {
    const claims = self.list(nodeClaims).map(claimFrom);
    return claims.flatMap((claim) => instanceIdOf(claim) ?? []).length === count;
  });

test('an intent that another leader has written meanwhile is carried out, and no second one', async () => {
  let otherId = '';
  await launching(['p0'], 1, async (ref, text) => {
    const { id: _own, ...content } = present(parseIntent(text, sha256Hex), 'it is an intent');
    const other = intentOf({ ...content, attempt: content.attempt + 1 }, sha256Hex);
    otherId = other.id;
    const body = { metadata: { annotations: { [annotations.launchIntent]: renderIntent(other) } } };
    await self.kube.patch(ref, { type: 'merge', body });
  });
  await paired(1);
  const bought = self.twin.instances.all().map((instance) => instance.tags[tags.launchIntent]);
  expect(bought).toEqual([otherId]);
});

test('an intent is not sent while one of its claims does not carry it', async () => {
  await launching(['p0', 'p1'], 2, (ref) => self.kube.delete(ref));
  await paired(1);
  await self.advance(60_000);
  expect(self.twin.instances.all()).toHaveLength(1);
});
