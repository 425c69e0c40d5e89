import { planIdOf, readPlanRecord, requestPlan, streamSpecs, subjects } from '@dovetail/contracts';
import { podValue } from '@dovetail/core-kube-model/testing';
import { BusError, type PublishAck } from '@dovetail/core-ports';
import { planAgain } from '@dovetail/core-scheduling';
import { clusterName, hash, m5Node, packing } from '@dovetail/sim-stage';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { SolverStage } from './testing/solver-stage.js';

let stage: SolverStage;
beforeEach(async () => {
  stage = await new SolverStage().begin();
});
afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

/** The plan that a record makes again, by its id; the reason where none is read. */
async function replayed(planId: string): Promise<string | undefined> {
  const read = await readPlanRecord(stage.channel, planId, packing);
  if (read === undefined) return undefined;
  if (!read.ok) return `${read.field}: ${read.reason}`;
  const { record, recorded } = read.value;
  return planIdOf(hash, { ...record, plan: planAgain(recorded.input) });
}

/** A batch with these pods, which a solver plans. Returns the id of its plan. */
async function planned(uids: readonly string[]): Promise<string> {
  for (const uid of uids) await stage.tell('pod', podValue(uid));
  await stage.batch(uids);
  await stage.advance(5_000);
  const { id } = stage.plans.at(-1) ?? { id: 'no plan' };
  return id;
}

/** A bus that refuses the messages of these subjects while it is told to. */
function refusing(subject: string, link: { isAway: boolean }) {
  const bus = stage.connect();
  const publish = (message: Parameters<typeof bus.publish>[0]): Promise<PublishAck> =>
    link.isAway && message.subject.includes(subject)
      ? Promise.reject(new BusError('unavailable', 'no connection'))
      : bus.publish(message);
  return new Proxy(bus, {
    get: (target, name) => {
      if (name === 'publish') return publish;
      const found: unknown = Reflect.get(target, name);
      return typeof found === 'function' ? (found.bind(target) as unknown) : found;
    },
  });
}

/** The messages of records that the stream holds, by subject. */
const kept = async (): Promise<readonly string[]> => [
  ...(
    await stage.bus.lastSequences('DOVETAIL_RECORDS_lab', subjects.recordAll(clusterName))
  ).keys(),
];

describe('the record of a plan', () => {
  test('makes the plan again, with the id that the launcher was given', async () => {
    await stage.basics();
    await stage.tell('node', m5Node('n1'));
    stage.solver('one');
    await stage.advance(50);
    for (const uids of [['a'], ['b', 'c', 'd']]) {
      const planId = await planned(uids);
      expect(await replayed(planId)).toBe(planId);
    }
    expect(stage.metrics.value('dovetail_solver_records_total', { outcome: 'kept' })).toBe(2);
  });

  test('is kept of a what-if on which something will be done, and of no other', async () => {
    await stage.basics();
    await stage.tell('node', m5Node('n1'));
    await stage.tell('pod', podValue('a', { nodeName: 'n1', phase: 'Running' }));
    stage.solver('one');
    await stage.advance(50);
    const question = { podUids: ['a'], withoutNodes: ['n1'], budgetMs: 100 };
    for (const isRecorded of [false, true]) {
      const asked = { ...question, isRecorded };
      const answer = requestPlan(stage.channel, 'plan', asked, { timeoutMs: 5_000 });
      await stage.advance(3_000);
      const answered = await answer;
      const planId = answered.ok ? answered.reply.planId : 'no answer';
      expect(await replayed(planId)).toBe(isRecorded ? planId : undefined);
    }
  });

  test('of the same cluster is kept in few parts: types and nodes are there already', async () => {
    await stage.basics();
    await stage.tell('node', m5Node('n1'));
    stage.solver('one');
    await stage.advance(50);
    await planned(['a']);
    const first = (await kept()).length;
    await planned(['b']);
    // The plan, its pods, and what came of it.
    expect((await kept()).length - first).toBeLessThanOrEqual(4);
    expect(first).toBeGreaterThan(3);
  });

  test('is kept for a day, although a plan of half a day before has its parts', async () => {
    await stage.basics();
    await stage.tell('node', m5Node('n1'));
    stage.solver('one');
    await stage.advance(50);
    await planned(['a']);
    await stage.advance(11.5 * 60 * 60_000);
    const planId = await planned(['b']);
    await stage.advance(23.5 * 60 * 60_000);
    expect(await replayed(planId)).toBe(planId);
  });

  test.each([
    ['is purged', 'purgeStream'],
    ['is lost', 'deleteStream'],
  ] as const)('is whole after the stream of records %s', async (_what, lose) => {
    await stage.basics();
    await stage.tell('node', m5Node('n1'));
    stage.solver('one');
    await stage.advance(50);
    const before = await planned(['a']);
    await stage.advance(120_000);
    stage.server[lose]('DOVETAIL_RECORDS_lab');
    await stage.bus.ensureStreams(streamSpecs(clusterName));
    await stage.advance(120_000);
    const planId = await planned(['b']);
    expect([await replayed(before), await replayed(planId)]).toEqual([undefined, planId]);
  });

  test('is not kept where that is switched off', async () => {
    await stage.basics();
    stage.solver('one', { config: { records: false } });
    await stage.advance(50);
    const planId = await planned(['a']);
    expect([await replayed(planId), await kept()]).toEqual([undefined, []]);
  });

  test.each(['.record.v1.part.', '.record.v1.plan.'])(
    'that could not be published (%s) costs the plan nothing, and the next is whole',
    async (subject) => {
      const link = { isAway: true };
      await stage.basics();
      stage.solver('one', { bus: refusing(subject, link) });
      await stage.advance(50);
      const lost = await planned(['a']);
      expect(stage.plans).toHaveLength(1);
      expect(await replayed(lost)).toBeUndefined();
      expect(stage.said('record-failed')).toHaveLength(1);
      link.isAway = false;
      const planId = await planned(['b']);
      expect(await replayed(planId)).toBe(planId);
    },
  );

  test('whose parts are gone says so', async () => {
    await stage.basics();
    stage.solver('one');
    await stage.advance(50);
    const planId = await planned(['a']);
    const reader = {
      ...stage.channel,
      bus: new Proxy(stage.bus, {
        get: (target, name) => {
          const found: unknown = Reflect.get(target, name);
          if (name !== 'lastMessage')
            return typeof found === 'function' ? (found.bind(target) as unknown) : found;
          return (stream: string, subject: string) =>
            subject.includes('.part.')
              ? Promise.resolve(undefined)
              : target.lastMessage(stream, subject);
        },
      }),
    };
    const read = await readPlanRecord(reader, planId, packing);
    expect(read).toMatchObject({ ok: false, field: 'input' });
    expect(read?.ok === false && read.reason).toMatch(
      /^\d+ of its \d+ parts are not kept any more$/,
    );
  });
});
