import {
  type BusRole,
  busRoles,
  decisionKinds,
  stateKinds,
  streamName,
  type StreamRole,
  subjects,
} from '@dovetail/contracts';
import { isUnavailable, obtainNatsServer } from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { cluster, Guarded, refused } from './testing/guarded.js';

const streams = [
  'state',
  'pending',
  'plans',
  'catalog',
  'decisions',
  'blobs',
  'records',
  'deadletters',
] as const satisfies readonly StreamRole[];
type Missing = Exclude<StreamRole, (typeof streams)[number]>;
const allStreams: [Missing] extends [never] ? typeof streams : never = streams;

/** A right on a stream, and the subjects of NATS that it opens. */
const rights = {
  make: (stream: string) => [`$JS.API.STREAM.CREATE.${stream}`, `$JS.API.STREAM.UPDATE.${stream}`],
  see: (stream: string) => [`$JS.API.STREAM.INFO.${stream}`],
  /** Read in order, by a consumer without a filter in its subject. */
  follow: (stream: string) => [`$JS.API.CONSUMER.CREATE.${stream}.any`, `$JS.FC.${stream}.any.x`],
  /** Any consumer, whoever made it. */
  consume: (stream: string) => [
    `$JS.API.CONSUMER.CREATE.${stream}`,
    `$JS.API.CONSUMER.CREATE.${stream}.any`,
    `$JS.API.CONSUMER.CREATE.${stream}.any.some.filter`,
    `$JS.API.CONSUMER.MSG.NEXT.${stream}.any`,
    `$JS.API.CONSUMER.INFO.${stream}.any`,
    `$JS.API.CONSUMER.DELETE.${stream}.any`,
    `$JS.ACK.${stream}.any.1.1.1.1.0`,
  ],
  /** Single messages. */
  get: (stream: string) => [
    `$JS.API.DIRECT.GET.${stream}`,
    `$JS.API.DIRECT.GET.${stream}.some.subject`,
  ],
};
type Right = keyof typeof rights;

/** Verbs of the API that no user may call, on any stream. */
const nobodys = (stream: string): readonly string[] => [
  ...['DELETE', 'PURGE', 'MSG.GET', 'MSG.DELETE', 'SNAPSHOT', 'RESTORE', 'LEADER.STEPDOWN'].map(
    (verb) => `$JS.API.STREAM.${verb}.${stream}`,
  ),
  `$JS.API.STREAM.PEER.REMOVE.${stream}`,
  `$JS.API.CONSUMER.LIST.${stream}`,
  `$JS.API.CONSUMER.NAMES.${stream}`,
  ...['DURABLE.CREATE', 'LEADER.STEPDOWN', 'PAUSE', 'UNPIN'].map(
    (verb) => `$JS.API.CONSUMER.${verb}.${stream}.any`,
  ),
  `$JS.API.STREAM.CREATE.${stream}x`,
];
const nobodysOfAll: readonly string[] = [
  '$JS.API.INFO',
  '$JS.API.STREAM.LIST',
  '$JS.API.STREAM.NAMES',
  '$JS.API.STREAM.TEMPLATE.CREATE.any',
  '$JS.API.META.LEADER.STEPDOWN',
  '$JS.API.SERVER.REMOVE',
  '$JS.API.ACCOUNT.PURGE.$G',
  '$SYS.REQ.SERVER.PING',
  subjects.plan('other', 'x'),
  subjects.state('other', 'pod', 'x'),
];

/** The work of the two queues, by the consumer that does it. */
const queues = { pending: 'solvers', plans: 'launcher' } as const;
const workOn = (queue: keyof typeof queues): readonly string[] => {
  const [stream, name] = [streamName(cluster, queue), queues[queue]];
  const filter = queue === 'pending' ? subjects.pendingAll(cluster) : subjects.planAll(cluster);
  return [
    `$JS.API.CONSUMER.CREATE.${stream}.${name}.${filter}`,
    `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`,
    `$JS.ACK.${stream}.${name}.1.1.1.1.0`,
  ];
};
const measureQueue = `$JS.API.CONSUMER.INFO.${streamName(cluster, 'pending')}.solvers`;

const states = Object.fromEntries(
  stateKinds.map((kind) => [`state of ${kind}`, subjects.state(cluster, kind, 'x')]),
);
const told = Object.fromEntries(
  decisionKinds.map((kind) => [`decision ${kind}`, subjects.decision(cluster, kind)]),
);
/** Every subject that carries a message, by the words of the table. */
const messages: Readonly<Record<string, string>> = {
  ...states,
  ...told,
  batch: subjects.pending(cluster, 'x'),
  plan: subjects.plan(cluster, 'x'),
  catalog: subjects.classCatalog(cluster, 'x', 0),
  unavailable: `dovetail.${cluster}.catalog.v1.unavailable.x`,
  part: subjects.blobPart(cluster, 'x', 0),
  record: subjects.planRecord(cluster, 'x'),
  'dead letter': subjects.deadLetter(cluster, 'x', 'launch'),
  question: subjects.planner(cluster, 'plan'),
  explanation: subjects.planner(cluster, 'explain'),
};
const launchers = ['promise', 'verdict', 'admission'];

type Row = Partial<Record<Right, readonly StreamRole[]>> & {
  readonly publishes: readonly string[];
  readonly works?: keyof typeof queues;
  readonly measures?: true;
};
const services = ['state', 'pending', 'plans', 'catalog', 'decisions', 'blobs', 'records'] as const;

/** The rights of each user. All else is refused. */
const table: Readonly<Record<BusRole, Row>> = {
  'pod-watcher': {
    see: services,
    follow: ['state', 'catalog'],
    get: ['state', 'blobs'],
    publishes: [
      ...stateKinds.filter((kind) => !launchers.includes(kind)).map((kind) => `state of ${kind}`),
      'batch',
      'part',
    ],
  },
  solver: {
    see: services,
    follow: ['state', 'catalog'],
    get: ['blobs'],
    works: 'pending',
    publishes: ['plan', 'record', 'part', 'decision plan', 'decision unschedulable'],
  },
  launcher: {
    see: services,
    follow: ['state', 'catalog', 'decisions'],
    get: ['state', 'blobs'],
    works: 'plans',
    publishes: [
      ...launchers.map((kind) => `state of ${kind}`),
      ...['catalog', 'unavailable', 'part', 'decision plan', 'decision admit', 'decision refuse'],
      ...['unschedulable', 'launch', 'launch-failed', 'register', 'initialize'].map(
        (kind) => `decision ${kind}`,
      ),
    ],
  },
  reaper: {
    see: ['state', 'catalog'],
    follow: ['state', 'catalog'],
    get: ['blobs'],
    publishes: [
      ...['unavailable', 'plan', 'question', 'part'],
      ...['command', 'disrupt', 'interrupt', 'drain', 'terminate', 'collect', 'gap'].map(
        (kind) => `decision ${kind}`,
      ),
    ],
  },
  reader: {
    see: ['decisions', 'deadletters'],
    follow: ['decisions'],
    consume: ['decisions'],
    get: ['records', 'deadletters', 'blobs'],
    measures: true,
    publishes: [],
  },
  console: {
    see: ['state', 'decisions'],
    follow: ['state', 'decisions'],
    get: ['blobs'],
    measures: true,
    publishes: [],
  },
  sinks: {
    see: ['decisions', 'deadletters'],
    consume: ['decisions'],
    get: ['blobs'],
    publishes: ['dead letter'],
  },
  streams: { make: allStreams, see: allStreams, publishes: [] },
};

const everything: readonly string[] = [
  ...new Set([
    ...allStreams.flatMap((role) => {
      const stream = streamName(cluster, role);
      return [...Object.values(rights).flatMap((of) => of(stream)), ...nobodys(stream)];
    }),
    ...nobodysOfAll,
    ...workOn('pending'),
    ...workOn('plans'),
    measureQueue,
    ...Object.values(messages),
  ]),
];

/** The subjects that a row of the table opens. */
function opened({ publishes, works, measures, ...row }: Row): ReadonlySet<string> {
  const onStreams = (Object.keys(rights) as Right[]).flatMap((right) =>
    (row[right] ?? []).flatMap((role) => rights[right](streamName(cluster, role))),
  );
  return new Set([
    ...onStreams,
    ...publishes.map((words) => messages[words] ?? `the table misspells ${words}`),
    ...(works === undefined ? [] : workOn(works)),
    ...(measures === true ? [measureQueue] : []),
  ]);
}

const server = await obtainNatsServer();
if (isUnavailable(server)) {
  test('the table of rights is left out', () =>
    console.warn(`LEFT OUT: the table of rights on NATS: ${server.unavailable}`));
} else {
  describe('of every verb of JetStream on every stream, and of every subject,', () => {
    const guarded = new Guarded();
    beforeAll(() => guarded.start(server.path));
    afterAll(() => guarded.stop());

    test.each(busRoles)('%s may use those that the table names, and no others', async (role) => {
      const allowed = opened(table[role]);
      expect(everything).toEqual(expect.arrayContaining([...allowed]));
      const denied = everything.filter((subject) => !allowed.has(subject));
      expect(await refused(await guarded.raw(role), everything)).toEqual(denied);
    });
  });
}
