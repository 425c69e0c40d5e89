/** The law of the Bus port for every implementation. It runs on the in-process bus and on NATS. */
import type { Bus, WorkerSpec } from '@dovetail/core-ports';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';

import { following } from './following.js';
import { looking, publishing } from './publishing.js';
import { readingLogs } from './reading-logs.js';
import {
  type BusWorld,
  bytes,
  eventually,
  log,
  type Member,
  queue,
  type Stage,
  state,
  Watcher,
  worker,
} from './stage.js';
import { asking, working } from './working.js';

export type { BusWorld } from './stage.js';

function memberOn(bus: Bus, spec: WorkerSpec): Member {
  const stop = new AbortController();
  const items = bus.work(spec, stop.signal)[Symbol.asyncIterator]();
  return {
    next: async () => {
      const item = await items.next();
      if (item.done === true) throw new Error('the queue has ended');
      return item.value;
    },
    close: async () => {
      stop.abort();
      await items.return?.();
    },
  };
}

/**
 * The stage over the world and the bus that `world` and `bus` return once they exist. `open`
 * remembers everything that is opened on it.
 */
function stageOver(
  world: () => BusWorld,
  bus: () => Bus,
  open: { close(): Promise<void> }[],
): Stage {
  const remembered = <T extends { close(): Promise<void> }>(made: T): T => {
    open.push(made);
    return made;
  };
  return {
    get world() {
      return world();
    },
    get bus() {
      return bus();
    },
    put: (subject, text, rest = {}) => bus().publish({ subject, payload: bytes(text), ...rest }),
    follow: (stream, filters, from) => remembered(new Watcher(bus(), stream, filters, from)),
    member: (on = bus(), spec = worker) => remembered(memberOn(on, spec)),
  };
}

export function busConformance(name: string, makeWorld: () => Promise<BusWorld>): void {
  describe(name, () => {
    let world: BusWorld;
    let bus: Bus;
    const open: { close(): Promise<void> }[] = [];
    const stage = stageOver(
      () => world,
      () => bus,
      open,
    );

    beforeAll(async () => {
      world = await makeWorld();
      bus = world.connect();
      await bus.ensureStreams([state, queue, log]);
    });
    afterEach(async () => {
      await Promise.all(open.splice(0).map((each) => each.close()));
      for (const stream of [state, queue, log])
        await eventually(() => world.deleteStream(stream.name));
      await eventually(() => bus.ensureStreams([state, queue, log]));
    });
    afterAll(() => world.close(), 30_000);

    for (const group of [publishing, looking, following, working, readingLogs, asking])
      group(stage);
  });
}
