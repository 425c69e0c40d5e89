import { permissionsOf } from '@dovetail/adapter-nats';
import {
  busRights,
  type BusRole,
  busRoles,
  inboxOf,
  streamName,
  streamSpecs,
  subjects,
  workers,
} from '@dovetail/contracts';
import { isUnavailable, obtainNatsServer } from '@dovetail/testbed';
import { connect, PermissionViolationError } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { cluster, Guarded, refused } from './testing/guarded.js';
import { eventually } from './testing/stage.js';

const server = await obtainNatsServer();
const bytes = new TextEncoder().encode('x');

const concrete = (pattern: string): string => pattern.replace(/>$/, 'x.y').replaceAll('*', 'x');
/** NATS' rule: `*` stands for one token, a last `>` for one or more. */
function covers(pattern: string, subject: string): boolean {
  const [wanted, given] = [pattern.split('.'), subject.split('.')];
  const isOpen = wanted.at(-1) === '>';
  const fixed = isOpen ? wanted.slice(0, -1) : wanted;
  return (
    fixed.every((token, index) => token === '*' || token === given[index]) &&
    (isOpen ? given.length > fixed.length : given.length === fixed.length)
  );
}
const publishable = (role: BusRole): readonly string[] =>
  permissionsOf(busRights(cluster, role)).publish.allow.map(concrete);

/** Calls that change or read more than any role may, and those of another cluster. */
const nobodys: readonly string[] = [
  ...streamSpecs(cluster).flatMap(({ name }) => [
    `$JS.API.STREAM.DELETE.${name}`,
    `$JS.API.STREAM.PURGE.${name}`,
    `$JS.API.STREAM.MSG.DELETE.${name}`,
    `$JS.API.STREAM.MSG.GET.${name}`,
    `$JS.API.STREAM.SNAPSHOT.${name}`,
    `$JS.API.CONSUMER.DURABLE.CREATE.${name}.x`,
  ]),
  // Those who read decisions may delete each other's consumers, and no others.
  ...streamSpecs(cluster)
    .filter(({ name }) => name !== streamName(cluster, 'decisions'))
    .map(({ name }) => `$JS.API.CONSUMER.DELETE.${name}.solvers`),
  '$JS.API.STREAM.LIST',
  '$JS.API.STREAM.CREATE.OTHER',
  '$JS.API.SERVER.REMOVE',
  '$SYS.REQ.SERVER.PING',
  subjects.state('other', 'pod', 'x'),
  subjects.plan('other', 'x'),
];

if (isUnavailable(server)) {
  test('rights on NATS are left out', () =>
    console.warn(`LEFT OUT: rights on NATS: ${server.unavailable}`));
} else {
  describe('under the users that are written for nats-server', () => {
    const guarded = new Guarded();
    beforeAll(() => guarded.start(server.path));
    afterAll(() => guarded.stop());

    test.each(busRoles)('%s may publish all that it publishes', async (role) =>
      expect(await refused(await guarded.raw(role), publishable(role))).toEqual([]),
    );

    test.each(busRoles)('%s is refused each right that only others have', async (role) => {
      const own = permissionsOf(busRights(cluster, role)).publish.allow;
      const others = [...new Set(busRoles.flatMap(publishable))].filter(
        (subject) => !own.some((pattern) => covers(pattern, subject)),
      );
      expect(others.length).toBeGreaterThan(5);
      expect(await refused(await guarded.raw(role), others)).toEqual(others);
    });

    test.each(busRoles)('%s is refused the calls that no role needs', async (role) =>
      expect(await refused(await guarded.raw(role), nobodys)).toEqual(nobodys),
    );

    test.each<[BusRole, string, string]>([
      ['reader', 'buy nodes', subjects.plan(cluster, 'x')],
      ['reader', 'ask for a plan that is carried out', subjects.planner(cluster, 'plan')],
      ['reader', 'call an offering unavailable', `dovetail.${cluster}.catalog.v1.unavailable.x`],
      ['reader', 'forge a decision', subjects.decision(cluster, 'launch')],
      ['console', 'buy nodes', subjects.plan(cluster, 'x')],
      ['console', 'ask for a plan that is carried out', subjects.planner(cluster, 'plan')],
      ['console', 'forge a pod', subjects.state(cluster, 'pod', 'x')],
      ['console', 'forge a decision', subjects.decision(cluster, 'launch')],
      ['console', 'end work of solvers', `$JS.ACK.${streamName(cluster, 'pending')}.solvers.1`],
      ['console', 'fill a stream with parts', `dovetail.${cluster}.blob.v1.x.0`],
      ['sinks', 'buy nodes', subjects.plan(cluster, 'x')],
      ['sinks', 'forge a decision', subjects.decision(cluster, 'launch')],
      ['sinks', 'see pods', `$JS.API.CONSUMER.CREATE.${streamName(cluster, 'state')}.x`],
      ['sinks', 'end work of solvers', `$JS.ACK.${streamName(cluster, 'pending')}.solvers.1`],
      [
        'sinks',
        'remake the decisions',
        `$JS.API.STREAM.UPDATE.${streamName(cluster, 'decisions')}`,
      ],
      ['sinks', 'fill a stream with parts', `dovetail.${cluster}.blob.v1.x.0`],
      ['reader', 'forge a dead letter', subjects.deadLetter(cluster, 'x', 'launch')],
      ['reader', 'see pods', `$JS.API.CONSUMER.CREATE.${streamName(cluster, 'state')}.x`],
      ['solver', 'forge a pod', subjects.state(cluster, 'pod', 'x')],
      ['solver', 'say that a plan was admitted', subjects.state(cluster, 'verdict', 'x')],
      ['solver', 'say that an instance was launched', subjects.decision(cluster, 'launch')],
      ['solver', 'remake a stream', `$JS.API.STREAM.UPDATE.${streamName(cluster, 'state')}`],
      [
        'solver',
        'take plans',
        `$JS.API.CONSUMER.MSG.NEXT.${streamName(cluster, 'plans')}.launcher`,
      ],
      ['pod-watcher', 'publish a plan', subjects.plan(cluster, 'x')],
      ['pod-watcher', 'change the catalog', subjects.classCatalog(cluster, 'x', 0)],
      ['launcher', 'forge a pod', subjects.state(cluster, 'pod', 'x')],
      ['launcher', 'forge a batch', subjects.pending(cluster, 'x')],
      ['reaper', 'change the catalog', subjects.classCatalog(cluster, 'x', 0)],
      [
        'reaper',
        'take plans',
        `$JS.API.CONSUMER.MSG.NEXT.${streamName(cluster, 'plans')}.launcher`,
      ],
    ])('%s cannot %s', async (role, _what, subject) =>
      expect(await refused(await guarded.raw(role), [subject])).toEqual([subject]),
    );

    test.each(busRoles)('%s hears nothing but its own answers', async (role) => {
      const others = busRoles.filter((each) => each !== role).map((each) => inboxOf(cluster, each));
      const connection = await guarded.raw(role);
      const heard = [...others.map((inbox) => `${inbox}.>`), `dovetail.${cluster}.>`, '_INBOX.>'];
      const denied = heard.map(
        (subject) =>
          new Promise<string>((resolve) => {
            connection.subscribe(subject, {
              callback: (error) => {
                if (error instanceof PermissionViolationError) resolve(subject);
              },
            });
          }),
      );
      expect(await Promise.all(denied)).toEqual(heard);
      await connection.close();
    });

    test('a client without a key is refused', async () => {
      await expect(connect({ servers: guarded.nats.url })).rejects.toThrow(/[Aa]uthorization/);
    });

    test('a service whose key is renewed connects again with the new one, without a restart', async () => {
      const reaper = guarded.service('reaper');
      const subject = subjects.decision(cluster, 'drain');
      await guarded.makeStreams();
      await reaper.publish({ subject, payload: bytes });
      const old = await guarded.raw('reaper');
      await guarded.renew('reaper');
      // The server ends the connections of a user that is gone.
      await old.closed();
      await eventually(() => reaper.publish({ subject, payload: bytes }));
      await reaper.close();
      guarded.complaints.length = 0;
    });

    test('the services do a round of their work and are refused nothing', async () => {
      const stop = new AbortController();
      const podWatcher = guarded.service('pod-watcher');
      await guarded.makeStreams();
      await podWatcher.ensureStreams(streamSpecs(cluster));
      const solver = guarded.service('solver');
      const launcher = guarded.service('launcher');
      const reaper = guarded.service('reaper');

      const followed = solver.follow(
        { stream: streamName(cluster, 'state'), filters: [subjects.stateAll(cluster)] },
        stop.signal,
      );
      const seen = (async () => {
        for await (const event of followed)
          if (event.kind === 'message' && event.message.subject.endsWith('.u1')) return event.kind;
        return undefined;
      })();
      const state = subjects.state(cluster, 'pod', 'u1');
      await podWatcher.publish({ subject: state, payload: bytes });
      expect(await seen).toBe('message');
      expect(await podWatcher.lastMessage(streamName(cluster, 'state'), state)).toBeDefined();

      await podWatcher.publish({ subject: subjects.pending(cluster, 'g'), payload: bytes });
      for await (const item of solver.work(workers.solvers(cluster), stop.signal)) {
        await item.working();
        await solver.publish({ subject: subjects.plan(cluster, 'g'), payload: bytes });
        await item.ack();
        if (item.message.subject === subjects.pending(cluster, 'g')) break;
      }
      for await (const item of launcher.work(workers.launcher(cluster), stop.signal)) {
        await item.ack();
        if (item.message.subject === subjects.plan(cluster, 'g')) break;
      }
      const served = solver.serve(
        { subject: subjects.planner(cluster, 'plan'), queue: 'solvers' },
        () => Promise.resolve(bytes),
        stop.signal,
      );
      const answer = await eventually(() =>
        reaper.request(subjects.planner(cluster, 'plan'), bytes, { timeoutMs: 60_000 }),
      );
      expect(answer.payload).toEqual(Buffer.from(bytes));
      stop.abort();
      await served;
      await Promise.all([podWatcher, solver, launcher, reaper].map((bus) => bus.close()));
      expect(guarded.complaints).toEqual([]);
    });
  });
}
