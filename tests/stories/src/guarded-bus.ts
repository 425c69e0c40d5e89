import type { BusRights } from '@dovetail/contracts';
import {
  type Bus,
  BusError,
  type Publisher,
  type Requester,
  type Responder,
  type StreamAdmin,
  type StreamReader,
  type WorkConsumer,
} from '@dovetail/core-ports';

/** Whether one of these subjects is this one, or begins it and ends in `>` or `*`. */
const covers = (allowed: readonly string[], subject: string): boolean =>
  allowed.some((each) =>
    /\.[>*]$/.test(each) ? subject.startsWith(each.slice(0, -1)) : each === subject,
  );

const named = (specs: readonly { readonly name: string }[]): readonly string[] =>
  specs.map(({ name }) => name);

/** Says no to what is not among the allowed subjects, streams or consumers. */
type Check = (allowed: readonly string[], what: string, subject: string) => void;

/**
 * The bus as nats-server gives it to a user with these rights: all else is denied. `told` hears of
 * each denial, because a service may take it for an outage and try again for ever.
 */
export function guardedBus(bus: Bus, rights: BusRights, told: (what: string) => void): Bus {
  const check: Check = (allowed, what, subject) => {
    if (covers(allowed, subject)) return;
    told(`${what} ${subject} is not among the rights of ${rights.inbox}`);
    throw new BusError('denied', `${what} ${subject}`);
  };
  return {
    connected: () => bus.connected(),
    ...writing(bus, rights, check),
    ...reading(bus, rights, check),
  };
}

const writing = (
  bus: Bus,
  { makes, sees, publishes, asks, serves }: BusRights,
  check: Check,
): StreamAdmin & Publisher & Requester & Responder => ({
  ensureStreams: async (specs) => {
    // Who may only see a stream waits for it. The stage has made them all.
    for (const { name } of specs) check([...named(makes), ...sees], 'make', name);
    await bus.ensureStreams(specs);
  },
  publish: async (message) => {
    check(publishes, 'publish', message.subject);
    return bus.publish(message);
  },
  request: async (subject, payload, options) => {
    check(asks, 'ask', subject);
    return bus.request(subject, payload, options);
  },
  serve: async (options, handler, stop) => {
    check(serves, 'serve', options.subject);
    return bus.serve(options, handler, stop);
  },
});

const reading = (
  bus: Bus,
  { makes, sees, follows, reads, works, measures }: BusRights,
  check: Check,
): StreamReader & WorkConsumer => ({
  follow: (options, stop) => {
    check(follows, 'follow', options.stream);
    return bus.follow(options, stop);
  },
  lastSequences: async (stream, filter) => {
    check(follows, 'follow', stream);
    return bus.lastSequences(stream, filter);
  },
  position: async (stream) => {
    check([...named(makes), ...sees, ...follows], 'see', stream);
    return bus.position(stream);
  },
  bytesOf: async (stream) => {
    check([...named(makes), ...sees, ...follows], 'see', stream);
    return bus.bytesOf(stream);
  },
  lagOf: async (queue) => {
    check(named(measures), 'measure', queue.name);
    return bus.lagOf(queue);
  },
  lastMessage: async (stream, subject) => {
    check(reads, 'read', stream);
    return bus.lastMessage(stream, subject);
  },
  work: (spec, stop) => {
    check(named(works), 'work as', spec.name);
    return bus.work(spec, stop);
  },
});
