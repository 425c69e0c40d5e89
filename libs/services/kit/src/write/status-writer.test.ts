import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

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

  test('remembers its own text where the API server stores another form, until it is told to forget', async () => {
    const { ref, kube } = await stage();
    let writes = 0;
    const otherForm = {
      get: async (where: typeof ref) => {
        const object = await kube.get(where);
        return object && { ...object, status: { ...(object['status'] ?? {}), phase: 'RUNNING' } };
      },
      patch: (...given: Parameters<typeof kube.patch>) => {
        writes += 1;
        return kube.patch(...given);
      },
    };
    const writer = new StatusWriter({
      kube: { ...kube, ...otherForm } as typeof kube,
      clock: outside().clock,
    });
    for (const _again of [1, 2]) await writer.write(ref, ready({ phase: 'Running' }));
    expect(writes).toBe(1);
    writer.forget(ref.uid);
    await writer.write(ref, ready({ phase: 'Running' }));
    expect(writes).toBe(2);
  });
});
