import type { BusRights } from '@dovetail/contracts';

/** The subjects of a user, in the words of the configuration of nats-server. */
export type NatsPermissions = {
  readonly publish: { readonly allow: readonly string[] };
  readonly subscribe: { readonly allow: readonly string[] };
  /** Set for those that answer requests: one answer to each, within this time. */
  readonly allow_responses?: { readonly max: number; readonly expires: string };
};

/** Longer than the longest what-if, so that no answer comes too late to be allowed. */
const answerWithin = '5m';

/**
 * NATS' permissions for a role's rights. A right on a stream becomes the subjects of JetStream's
 * API that this adapter calls for it, and no others. Subjects are those of NATS' reference of the
 * JetStream wire API.
 */
export function permissionsOf(rights: BusRights): NatsPermissions {
  const { serves, hears, inbox } = rights;
  const subscribe = {
    allow: [`${inbox}.>`, ...hears, ...serves, ...(serves.length > 0 ? services : [])],
  };
  return {
    publish: { allow: publishable(rights) },
    subscribe,
    ...(serves.length === 0 ? {} : { allow_responses: { max: 1, expires: answerWithin } }),
  };
}

function publishable(rights: BusRights): readonly string[] {
  const { follows, consumes, makes, publishes, asks, reads, works, measures } = rights;
  const worked = works.map(({ stream }) => stream);
  const named = [
    ...makes.map(({ name }) => name),
    ...rights.sees,
    ...follows,
    ...consumes,
    ...worked,
  ];
  return [
    ...publishes,
    ...asks,
    ...makes.flatMap(({ name }) => [
      `$JS.API.STREAM.CREATE.${name}`,
      `$JS.API.STREAM.UPDATE.${name}`,
    ]),
    ...[...new Set(named)].map((name) => `$JS.API.STREAM.INFO.${name}`),
    // An ordered consumer has a name of its own each time. Its flow control wants answers.
    ...follows.flatMap((name) => [`$JS.API.CONSUMER.CREATE.${name}.*`, `$JS.FC.${name}.>`]),
    ...consumes.flatMap(consumersOf),
    ...measures.map(({ stream, name }) => `$JS.API.CONSUMER.INFO.${stream}.${name}`),
    // By its subject, or by its sequence.
    ...reads.flatMap((name) => [`$JS.API.DIRECT.GET.${name}.>`, `$JS.API.DIRECT.GET.${name}`]),
    ...works.flatMap(({ stream, name, filter }) => [
      `$JS.API.CONSUMER.CREATE.${stream}.${name}${filter === undefined ? '' : `.${filter}`}`,
      `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`,
      `$JS.ACK.${stream}.${name}.>`,
      // Servers that put domain and account before the stream.
      `$JS.ACK.*.*.${stream}.${name}.>`,
    ]),
  ];
}

/**
 * The calls by which the clients of NATS for Node.js, Python and Go read a stream: with a consumer
 * that has a name or gets one, with a filter or without, that pulls or pushes, with acks or
 * without.
 */
const consumersOf = (stream: string): readonly string[] => [
  `$JS.API.CONSUMER.CREATE.${stream}`,
  `$JS.API.CONSUMER.CREATE.${stream}.>`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
  `$JS.API.CONSUMER.INFO.${stream}.*`,
  `$JS.API.CONSUMER.DELETE.${stream}.*`,
  `$JS.ACK.${stream}.>`,
  // Servers that put domain and account before the stream.
  `$JS.ACK.*.*.${stream}.>`,
];

/** By these subjects `nats micro` finds those that serve, and reads their statistics. */
const services = ['PING', 'INFO', 'STATS'].flatMap((verb) => [`$SRV.${verb}`, `$SRV.${verb}.>`]);

/** A user of nats-server: the public half of an NKey, and what it may do. */
export type NatsUser = { readonly nkey: string; readonly permissions: NatsPermissions };

/**
 * The users as nats-server's configuration writes them: one entry of a `users` list each, with a
 * comment that names it. JSON is a part of that syntax.
 */
export function usersConfig(users: ReadonlyMap<string, NatsUser>): string {
  const entries = [...users].map(
    ([name, user]) =>
      `    # ${name}\n    ${JSON.stringify(user, undefined, 2).replaceAll('\n', '\n    ')}`,
  );
  return `users: [\n${entries.join('\n')}\n]\n`;
}
