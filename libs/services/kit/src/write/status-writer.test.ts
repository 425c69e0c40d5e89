import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from '@jest/globals';

import { outside } from '../testing/outside.js';
import { conditionsIn, withCondition } from './conditions.js';
import { type StatusWish, StatusWriter } from './status-writer.js';

const ready = (fields: Readonly<Record<string, unknown>>): StatusWish => ({
  fields,
  conditions: (held, nowMs) =>
    withCondition(held, { type: 'Ready', status: 'True', reason: 'Ready' }, nowMs),
});

async function stage() {
  const { kube, clock } = outside();
  const resource = kubeResources.nodes;
  const made = await kube.create(resource, { metadata: { name: 'n' } });
  const ref = { resource, name: 'n', uid: made.metadata.uid as string };
  const read = async (): Promise<KubeObject> => (await kube.get(ref)) as KubeObject;
  return { ref, read, kube, writer: new StatusWriter({ kube, clock }) };
}

describe('a status writer', () => {
  test('writes fields and conditions with the generation that they are about', async () => {
    const { ref, read, writer } = await stage();
    await writer.write(ref, ready({ phase: 'Running' }));
    const now = await read();
    expect(conditionsIn(now)).toMatchObject([{ type: 'Ready', status: 'True' }]);
    expect(now['status']).toMatchObject({ phase: 'Running' });
  });

  test('writes nothing when the status says so already', async () => {
    const { ref, read, writer } = await stage();
    await writer.write(ref, ready({ phase: 'Running' }));
    const before = (await read()).metadata.resourceVersion;
    await writer.write(ref, ready({ phase: 'Running' }));
    expect((await read()).metadata.resourceVersion).toBe(before);
    await writer.write(ref, ready({ phase: 'Pending' }));
    expect((await read())['status']).toMatchObject({ phase: 'Pending' });
  });

  test('does nothing for an object that is gone', async () => {
    const { ref, read, writer } = await stage();
    const before = (await read()).metadata.resourceVersion;
    await writer.write({ ...ref, uid: 'another' }, ready({ phase: 'Running' }));
    expect((await read()).metadata.resourceVersion).toBe(before);
  });
});
