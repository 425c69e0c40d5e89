import { inheritedKeys } from '@dovetail/core-kube-model/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { sampleNode, samplePod } from '../testing/sample-objects.js';
import {
  sampleFound,
  sampleGap,
  sampleGapRequest,
  sampleOpenRequest,
  sampleSearchRequest,
} from '../testing/sample-searches.js';
import {
  sampleBatch,
  sampleCatalog,
  sampleDecision,
  sampleJointReplacement,
  sampleJointRequest,
  samplePlan,
  samplePlanMessage,
  samplePlanRecord,
  sampleRecords,
  sampleReplacement,
  sampleReply,
  sampleRequest,
  sampleUnavailable,
} from '../testing/samples.js';
import {
  decodeClassCatalog,
  decodeDecision,
  decodePendingBatch,
  decodePlanMessage,
  decodePlannerAnswer,
  decodePlanRecord,
  decodePlanReply,
  decodePlanRequest,
  decodeRecordPart,
  decodeStateRecord,
  decodeUnavailableOffering,
  encodeClassCatalog,
  encodeDecision,
  EncodeError,
  encodePendingBatch,
  encodePlanMessage,
  encodePlannerAnswer,
  encodePlanRecord,
  encodePlanReply,
  encodePlanRequest,
  encodeRecordPart,
  encodeStateRecord,
  encodeUnavailableOffering,
} from './index.js';
import { wire } from './wire.js';

describe('every message survives the wire', () => {
  test.each(
    sampleRecords.map(
      (record) => [record.kind === 'gone' ? 'gone' : record.state.kind, record] as const,
    ),
  )('a record of %s', (_kind, record) => {
    expect(decodeStateRecord(encodeStateRecord(record))).toEqual({ ok: true, value: record });
  });
  test.each(inheritedKeys)('a pod with the label and the resource %s', (key) => {
    const value = { ...samplePod, labels: { [key]: 'a' }, requests: { cpu: 1, [key]: 2 } };
    const state = { kind: 'pod', value } as const;
    const given = { kind: 'set', uid: 'u', state, generation: '1.1' } as const;
    const read = decodeStateRecord(encodeStateRecord(given));
    expect(read).toEqual({ ok: true, value: given });
    expect(JSON.stringify(read)).toContain(`"labels":{"${key}":"a"}`);
  });
  test('a plan with its tables', () => {
    for (const message of [samplePlanMessage, sampleReplacement, sampleJointReplacement])
      expect(decodePlanMessage(encodePlanMessage(message))).toEqual({ ok: true, value: message });
  });
  test('what a plan was made from, and its parts', () => {
    const part = { id: 'p', packed: Buffer.from([1, 2]) };
    expect(decodePlanRecord(encodePlanRecord(samplePlanRecord))).toEqual({
      ok: true,
      value: samplePlanRecord,
    });
    expect(decodeRecordPart(encodeRecordPart(part))).toEqual({ ok: true, value: part });
  });
  test('batches, requests, answers, catalogs, decisions', () => {
    expect(decodePendingBatch(encodePendingBatch(sampleBatch))).toEqual({
      ok: true,
      value: sampleBatch,
    });
    expect(decodePlanRequest(encodePlanRequest(sampleRequest))).toEqual({
      ok: true,
      value: sampleRequest,
    });
    const searching = [
      sampleOpenRequest,
      { ...sampleOpenRequest, openNodes: [] },
      sampleSearchRequest,
      sampleGapRequest,
    ];
    for (const request of [sampleRequest, sampleJointRequest, ...searching])
      expect(decodePlanRequest(encodePlanRequest(request))).toEqual({ ok: true, value: request });
    expect(decodePlanReply(encodePlanReply(sampleReply))).toEqual({ ok: true, value: sampleReply });
    for (const answer of [
      { kind: 'reply', reply: sampleReply },
      { kind: 'refusal', code: 'not-ready', message: 'm' },
      { kind: 'blob', blob: { id: 'x', parts: 2, bytes: 9 } },
      { kind: 'found', found: sampleFound },
      { kind: 'gap', gap: sampleGap },
    ] as const) {
      expect(decodePlannerAnswer(encodePlannerAnswer(answer))).toEqual({ ok: true, value: answer });
    }
    expect(decodeClassCatalog(encodeClassCatalog(sampleCatalog))).toEqual({
      ok: true,
      value: sampleCatalog,
    });
    expect(decodeUnavailableOffering(encodeUnavailableOffering(sampleUnavailable))).toEqual({
      ok: true,
      value: sampleUnavailable,
    });
    expect(decodeDecision(encodeDecision(sampleDecision))).toEqual({
      ok: true,
      value: sampleDecision,
    });
  });
  test('absence stays absence, and empty stays empty', () => {
    const {
      requiredNodeAffinity: _affinity,
      owner: _owner,
      deletionMs: _deletion,
      ...bare
    } = samplePod;
    for (const value of [bare, { ...bare, requiredNodeAffinity: [] }]) {
      expect(
        decodeStateRecord(
          encodeStateRecord({
            kind: 'set',
            uid: 'u',
            state: { kind: 'pod', value },
            generation: '',
          }),
        ),
      ).toMatchObject({ ok: true, value: { state: { value } } });
    }
    const { capacityType: _type, pool: _pool, ...decision } = sampleDecision;
    expect(decodeDecision(encodeDecision(decision))).toEqual({ ok: true, value: decision });
  });
  test('any labels and amounts', () =>
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ minLength: 1 }).filter((key) => key !== '__proto__'),
          fc.string({ unit: 'grapheme' }),
        ),
        fc.dictionary(fc.stringMatching(/^[a-z/.]{1,20}$/), fc.maxSafeInteger()),
        (labels, capacity) => {
          const value = { ...sampleNode, labels, capacity };
          expect(
            decodeStateRecord(
              encodeStateRecord({
                kind: 'set',
                uid: 'u',
                state: { kind: 'node', value },
                generation: 'g',
              }),
            ),
          ).toMatchObject({ ok: true, value: { state: { value } } });
        },
      ),
      { numRuns: 50 },
    ));
});

describe('equal values are equal bytes', () => {
  test('whatever order labels and sets were filled in', () => {
    const swapped = { ...sampleNode, labels: { z: '1', a: '2' } };
    const sorted = { ...sampleNode, labels: { a: '2', z: '1' } };
    const bytes = (value: typeof sampleNode): string =>
      Buffer.from(
        encodeStateRecord({
          kind: 'set',
          uid: 'u',
          state: { kind: 'node', value },
          generation: '',
        }),
      ).toString('hex');
    expect(bytes(swapped)).toBe(bytes(sorted));
    const [type] = sampleCatalog.instanceTypes;
    const turned = {
      ...sampleCatalog,
      instanceTypes: [
        {
          ...type!,
          requirements: new Map(
            [...type!.requirements]
              .reverse()
              .map(([key, set]) => [key, { ...set, values: new Set([...set.values].reverse()) }]),
          ),
        },
      ],
    };
    expect(encodeClassCatalog(turned)).toEqual(encodeClassCatalog(sampleCatalog));
  });
  test('a plan names each option and reason once', () => {
    const [bin] = samplePlan.newNodes;
    const many = {
      ...samplePlanMessage,
      plan: {
        ...samplePlan,
        newNodes: Array.from({ length: 100 }, (_, index) => ({
          ...bin!,
          id: `bin-${String(index)}`,
        })),
      },
    };
    expect(encodePlanMessage(many).length).toBeLessThan(
      encodePlanMessage(samplePlanMessage).length + 100 * 100,
    );
  });
  test('bins that are alike share their values when they are read, whether or not they did when they were written', () => {
    const [bin] = samplePlan.newNodes;
    const copies = [structuredClone(bin!), { ...structuredClone(bin!), id: 'bin-1' }];
    const read = decodePlanMessage(
      encodePlanMessage({ ...samplePlanMessage, plan: { ...samplePlan, newNodes: copies } }),
    );
    const [first, second] = read.ok ? read.value.plan.newNodes : [];
    expect(second).toEqual(copies[1]);
    for (const field of ['options', 'requirements', 'labels', 'taints', 'notes'] as const)
      expect(second?.[field]).toBe(first?.[field]);
  });
});

const bad = (message: object): Uint8Array => wire.StateRecord.encode(message).finish();
const batchBytes = (message: object): Uint8Array => wire.PendingBatch.encode(message).finish();
describe('what is wrong is refused by the name of its field', () => {
  test.each([
    // what, bytes, field, reason
    ['no bytes at all', new Uint8Array(), 'uid', /empty or missing/],
    ['a record without a state', bad({ uid: 'u', generation: 'g' }), '', /unset, or newer/],
    [
      'a tombstone of a kind from the future',
      bad({ uid: 'u', gone: { kind: 99 } }),
      'gone.kind',
      /99 is unset, or newer than this build \(known: pod, node/,
    ],
    [
      'a node without a name',
      bad({ uid: 'u', node: { uid: 'u', capacity: {}, allocatable: {} } }),
      'node.name',
      /empty or missing/,
    ],
    [
      'a node without capacity',
      bad({ uid: 'u', node: { uid: 'u', name: 'n', allocatable: {} } }),
      'node.capacity',
      /is missing/,
    ],
    [
      'a taint without an effect',
      bad({
        uid: 'u',
        node: {
          uid: 'u',
          name: 'n',
          capacity: {},
          allocatable: {},
          taints: [{ key: 'a', effect: 1 }, { key: 'b' }],
        },
      }),
      'node.taints[1].effect',
      /0 is unset/,
    ],
    [
      'an amount beyond 2^53',
      bad({ uid: 'u', csinode: { uid: 'u', name: 'n', limits: { d: 2 ** 60 } } }),
      'csinode.limits[d]',
      /not an integer below 2\^53/,
    ],
  ])('%s', (_what, bytes, field, reason) => {
    const decoded = decodeStateRecord(bytes);
    expect(decoded).toMatchObject({ ok: false, field });
    expect(decoded.ok ? '' : decoded.reason).toMatch(reason);
  });
  test('bytes of something else', () => {
    expect(decodeStateRecord(new Uint8Array([10, 200, 1, 2]))).toMatchObject({
      ok: false,
      field: 'StateRecord',
    });
  });
  test('a batch without position', () => {
    expect(decodePendingBatch(batchBytes({ group: 'g', round: '1.1', podUids: ['a'] }))).toEqual({
      ok: false,
      field: 'statePosition',
      reason: 'is missing; it is required',
    });
  });
  test('a plan that names an option it does not carry', () => {
    const plan = {
      bound: { kind: 1 },
      stats: {},
      newNodes: [{ id: 'b', pool: { kind: 1, name: 'p' }, requests: {}, optionIndexes: [3] }],
    };
    const bytes = wire.PlanMessage.encode({
      id: 'i',
      solver: 's',
      pending: { group: 'g', round: 'r' },
      plan,
      statePosition: { incarnation: 'i' },
      admissionSeen: {},
    } as object).finish();
    expect(decodePlanMessage(bytes)).toMatchObject({
      ok: false,
      field: 'plan',
      reason: expect.stringMatching(/3 names no row; the table has 0/),
    });
  });
  test('any bytes are read or refused, never thrown on', () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(typeof decodeStateRecord(bytes).ok).toBe('boolean');
        expect(typeof decodePlanMessage(bytes).ok).toBe('boolean');
        expect(typeof decodeClassCatalog(bytes).ok).toBe('boolean');
      }),
      { numRuns: 300 },
    ));
  test('any damage to good bytes is read or refused, never thrown on', () =>
    fc.assert(
      fc.property(fc.nat(), fc.nat(255), fc.nat(), (at, byte, cut) => {
        const bytes = Uint8Array.from(encodePlanMessage(samplePlanMessage));
        bytes[at % bytes.length] = byte;
        expect(typeof decodePlanMessage(bytes.subarray(0, bytes.length - (cut % 3))).ok).toBe(
          'boolean',
        );
      }),
      { numRuns: 300 },
    ));
});

describe('what the wire would change silently is not written', () => {
  test.each([
    ['a fraction', { ...sampleNode, capacity: { cpu: 1.5 } }, 'node.capacity.amounts[cpu]'],
    ['no number', { ...sampleNode, capacity: { cpu: Number.NaN } }, 'node.capacity.amounts[cpu]'],
    ['an empty name', { ...sampleNode, name: '' }, 'node.name'],
  ])('%s', (_what, value, field) => {
    const write = (): unknown =>
      encodeStateRecord({ kind: 'set', uid: 'u', state: { kind: 'node', value }, generation: '' });
    expect(write).toThrow(EncodeError);
    expect(write).toThrow(`StateRecord.${field}`);
  });
});
