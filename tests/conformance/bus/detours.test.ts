import type { NatsBus } from '@dovetail/adapter-nats';
import {
  type BusRole,
  type Channel,
  encodePlanMessage,
  planIdOf,
  type PlanMessage,
  publishDecision,
  publishPlan,
  streamHeader,
  streamName,
  type StreamRole,
  subjects,
  workPlans,
} from '@dovetail/contracts';
import { neverStopping } from '@dovetail/core-ports';
import { systemClock, systemHash } from '@dovetail/runtime';
import { isUnavailable, obtainNatsServer } from '@dovetail/testbed';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { launchDecision } from './testing/decisions.js';
import { cluster, Guarded } from './testing/guarded.js';
import { eventually } from './testing/stage.js';

const of = (role: StreamRole): string => streamName(cluster, role);
const question = subjects.planner(cluster, 'plan');

const plan: Omit<PlanMessage, 'id'> = {
  cause: { kind: 'pending', group: 'g', round: '1.1' },
  plan: {
    stateSequence: 1,
    catalogRevision: 'r',
    admissionHead: '1.1',
    seed: 1,
    steps: 0,
    newNodes: [],
    placements: [{ nodeName: 'n', nodeUid: 'n', podUids: ['p'], topologyGroups: [] }],
    unplaced: [],
    priceMicrosPerHour: 0,
    bound: { kind: 'resource-price', priceMicrosPerHour: 0 },
    stats: { pods: 1, classes: 1, instanceTypes: 1 },
  },
  statePosition: { incarnation: '2026-11-21T14:00:00Z', sequence: 1 },
  admissionSeen: { epoch: 1, number: 1 },
  createdMs: 1,
  solver: 'forger',
  solveMs: 1,
};
const forged: PlanMessage = { ...plan, id: planIdOf(systemHash, plan) };

/** A consumer that delivers to a subject of its maker's choice. */
const pushTo = (stream: string, subject: string, rest: object = {}): [string, object] => [
  `$JS.API.CONSUMER.CREATE.${stream}.detour`,
  {
    stream_name: stream,
    config: { name: 'detour', deliver_subject: subject, ack_policy: 'none', ...rest },
  },
];

const server = await obtainNatsServer();
if (isUnavailable(server)) {
  test('detours through NATS are left out', () =>
    console.warn(`LEFT OUT: detours through NATS: ${server.unavailable}`));
} else {
  describe('NATS writes where a user may not, if asked to; there,', () => {
    const guarded = new Guarded();
    const open: { close(): Promise<unknown> }[] = [];
    const raw = async (role: BusRole): Promise<NatsConnection> => {
      const connection = await guarded.raw(role);
      open.push(connection);
      return connection;
    };
    const service = (role: Exclude<BusRole, 'reader'>): NatsBus => {
      const bus = guarded.service(role);
      open.push(bus);
      return bus;
    };
    const channelOf = (role: 'solver' | 'launcher'): Channel => {
      const own = { cluster, source: role, clock: systemClock, hash: systemHash };
      return { bus: service(role), ...own };
    };
    beforeAll(async () => {
      await guarded.start(server.path);
      await guarded.makeStreams();
      await publishDecision(channelOf('launcher'), launchDecision('one'));
      const podWatcher = await raw('pod-watcher');
      await podWatcher.request(subjects.state(cluster, 'pod', 'p'), 'a pod');
      await podWatcher.request(subjects.blobPart(cluster, 'p', 0), 'a part');
    });
    afterEach(async () => {
      await Promise.all(open.splice(0).map((each) => each.close()));
    });
    afterAll(() => guarded.stop());

    test.each<[BusRole, string, [string, object?]]>([
      ['reader', 'a consumer', pushTo(of('decisions'), question)],
      [
        'sinks',
        'a consumer of their queue',
        pushTo(of('decisions'), question, { deliver_group: 'solvers' }),
      ],
      ['console', 'a consumer', pushTo(of('state'), question, { deliver_group: 'solvers' })],
      [
        'reader',
        'a message',
        [`$JS.API.DIRECT.GET.${of('blobs')}.${subjects.blobPart(cluster, 'p', 0)}`],
      ],
      ['console', 'an answer', [`$JS.API.STREAM.INFO.${of('state')}`]],
    ])('solvers answer the reaper, and not what %s sends them by %s', async (role, _how, call) => {
      const stop = new AbortController();
      const asked: string[] = [];
      const answering = service('solver').serve(
        { subject: question, queue: 'solvers' },
        ({ payload }) => {
          asked.push(new TextDecoder().decode(payload));
          return Promise.resolve(payload);
        },
        stop.signal,
      );
      const reaper = service('reaper');
      const ask = (text: string) =>
        reaper.request(question, new TextEncoder().encode(text), { timeoutMs: 60_000 });
      await eventually(() => ask('before'));
      // A plain member of the same service hears all that NATS delivers there.
      const solver = await raw('solver');
      const heard = new Promise((resolve) => solver.subscribe(question, { callback: resolve }));
      await solver.flush();
      const [subject, body] = call;
      (await raw(role)).publish(subject, body === undefined ? undefined : JSON.stringify(body), {
        reply: question,
      });
      await heard;
      await ask('after');
      stop.abort();
      await answering;
      expect(asked).toEqual(['before', 'after']);
    });

    /** Stores a plan's bytes where a role may write, and has NATS put a copy among the plans. */
    const copies: readonly [string, (named: string | undefined) => Promise<void>][] = [
      [
        'a part that pod-watcher wrote',
        async (named) => {
          const [subject, client] = [
            subjects.blobPart(cluster, 'forged', 0),
            await raw('pod-watcher'),
          ];
          await store(client, subject, named);
          await deliver(client, `$JS.API.DIRECT.GET.${of('blobs')}.${subject}`);
        },
      ],
      [
        'a dead letter that the sinks wrote and a reader reads',
        async (named) => {
          const subject = subjects.deadLetter(cluster, 'x', 'launch');
          await store(await raw('sinks'), subject, named);
          await deliver(await raw('reader'), `$JS.API.DIRECT.GET.${of('deadletters')}.${subject}`);
        },
      ],
      [
        'a decision that the launcher wrote and a reader pulls',
        async (named) => {
          await store(await raw('launcher'), subjects.decision(cluster, 'launch'), named);
          const [reader, stream] = [await raw('reader'), of('decisions')];
          const config = { name: 'pull', ack_policy: 'explicit', deliver_policy: 'last' };
          const body = JSON.stringify({ stream_name: stream, config });
          await reader.request(`$JS.API.CONSUMER.CREATE.${stream}.pull`, body);
          await deliver(reader, `$JS.API.CONSUMER.MSG.NEXT.${stream}.pull`);
          await reader.request(`$JS.API.CONSUMER.DELETE.${stream}.pull`);
        },
      ],
      [
        'an answer of NATS',
        async () => deliver(await raw('solver'), `$JS.API.STREAM.INFO.${of('state')}`),
      ],
    ];
    // Each publish has a time of its own; the server would take two of one time for one.
    let sent = 1;
    async function store(client: NatsConnection, subject: string, named: string | undefined) {
      const given = headers();
      if (named !== undefined) given.set(streamHeader, named);
      await client.request(subject, encodePlanMessage(forged), { headers: given, timeout: 5_000 });
    }
    async function deliver(client: NatsConnection, subject: string): Promise<void> {
      client.publish(subject, undefined, { reply: subjects.plan(cluster, 'forged') });
      await client.flush();
    }
    test.each(
      copies.flatMap(([what, copy]) =>
        [undefined, of('plans'), of('blobs'), of('decisions'), of('deadletters')].map(
          (named) => [what, named, copy] as const,
        ),
      ),
    )('the launcher takes no plan from %s, with the header %s', async (_what, named, copy) => {
      await copy(named);
      await publishPlan(channelOf('solver'), { ...forged, createdMs: ++sent, solver: 'true' });
      const taken: string[] = [];
      for await (const { item, read } of workPlans(channelOf('launcher'), neverStopping)) {
        await item.ack();
        if (read.ok) taken.push(read.value.solver);
        if (read.ok && read.value.solver === 'true') break;
      }
      expect(taken).toEqual(['true']);
    });

    test.each<[string, object]>([
      ['republish', { republish: { src: '>', dest: 'elsewhere.>' } }],
      ['sources', { sources: [{ name: of('state') }] }],
      ['subject_transform', { subject_transform: { src: '>', dest: 'elsewhere.>' } }],
    ])(
      'services refuse a stream with %s, and use it again once it is made anew',
      async (key, rule) => {
        const operator = await guarded.operator();
        open.push(operator);
        const info = await operator.request(`$JS.API.STREAM.INFO.${of('decisions')}`);
        const { config } = info.json<{ config: object }>();
        const changed = JSON.stringify({ ...config, ...rule });
        const answer = await operator.request(`$JS.API.STREAM.UPDATE.${of('decisions')}`, changed);
        expect(answer.json()).not.toHaveProperty('error');
        const launcher = service('launcher');
        const refusal = { code: 'stream-refused', message: expect.stringContaining(`has ${key}`) };
        await expect(launcher.position(of('decisions'))).rejects.toMatchObject(refusal);
        await expect(guarded.makeStreams()).rejects.toMatchObject(refusal);
        await operator.request(`$JS.API.STREAM.DELETE.${of('decisions')}`);
        await expect(launcher.position(of('decisions'))).rejects.toMatchObject({
          code: 'no-stream',
        });
        await guarded.makeStreams();
        await publishDecision(channelOf('launcher'), launchDecision('one'));
        guarded.complaints.length = 0;
      },
    );
  });
}
