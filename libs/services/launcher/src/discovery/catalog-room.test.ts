import { catalogEventOf, streamName, subjects } from '@dovetail/contracts';
import { kubeResources } from '@dovetail/core-ports';
import { clusterName } from '@dovetail/sim-stage';
import { afterEach, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { ec2NodeClasses, nodePools } = kubeResources;

/** UIDs of the classes whose catalog takes room on the stream. */
async function told(): Promise<ReadonlySet<string>> {
  const stream = streamName(clusterName, 'catalog');
  const held = await self.bus.lastSequences(stream, subjects.catalogAll(clusterName));
  const uids = new Set<string>();
  for (const subject of held.keys()) {
    const message = await self.bus.lastMessage(stream, subject);
    const event =
      message === undefined
        ? undefined
        : catalogEventOf({ cluster: clusterName, nowMs: 0 }, message);
    if (event?.kind === 'class') uids.add(event.part.classUid);
  }
  return uids;
}

async function deleteClass(): Promise<string> {
  const [row] = await self.kube.list(ec2NodeClasses);
  const name = row?.metadata.name ?? '';
  await self.kube.delete({ resource: nodePools, name: 'general' });
  await self.kube.delete({ resource: ec2NodeClasses, name });
  return row?.metadata.uid ?? '';
}
const classesGone = () =>
  self.until(
    'the end of the class',
    async () => (await self.kube.list(ec2NodeClasses)).length === 0,
  );
const onlyOf = (uids: number) =>
  self.until(`the catalogs of ${uids} classes`, async () => (await told()).size === uids);

test('a class that is deleted and made again leaves room for the next', async () => {
  self = await launcherStage();
  self.launcher('one');
  const seen = new Set<string>();
  for (let times = 0; times < 3; times += 1) {
    await self.readyPool();
    await self.until('a new catalog', async () =>
      [...(await told())].some((uid) => !seen.has(uid)),
    );
    for (const uid of await told()) seen.add(uid);
    await deleteClass();
    await classesGone();
  }
  expect(seen.size).toBe(3);
  await onlyOf(0);
});

test('a class that went while no launcher led is dropped by the next', async () => {
  self = await launcherStage();
  await self.readyPool();
  const { life } = self.launcher('one');
  await self.planningPossible();
  life.die();
  const [row] = await self.kube.list(ec2NodeClasses);
  await self.kube.delete({ resource: nodePools, name: 'general' });
  const ref = { resource: ec2NodeClasses, name: row?.metadata.name ?? '' };
  await self.kube.patch(ref, { type: 'merge', body: { metadata: { finalizers: [] } } });
  await self.kube.delete(ref);
  await classesGone();
  await onlyOf(1);
  self.launcher('two');
  await onlyOf(0);
});
