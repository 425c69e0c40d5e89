import { busOperator } from '@dovetail/testbed';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

import type { TestWorld } from './world.js';

/** Faults that may strike at any moment. */
export const faults = [
  'kill pod-watcher',
  'kill one of three solvers',
  'kill launcher',
  'kill reaper',
  'kill NATS and delete its store',
  'purge all streams',
] as const;
export type Fault = (typeof faults)[number];

const victims: Partial<Record<Fault, string>> = {
  'kill pod-watcher': 'pod-watcher',
  'kill one of three solvers': 'solver-1',
  'kill launcher': 'launcher',
  'kill reaper': 'reaper',
};

/** Causes the fault. The lab's supervisor restarts killed processes, as a Deployment would. */
export async function strike(world: TestWorld, fault: Fault): Promise<void> {
  const victim = victims[fault];
  if (victim !== undefined) return killPart(world, victim);
  return fault === 'purge all streams' ? purgeStreams(world) : loseBus(world);
}

/**
 * The supervisor is held until the test has seen the process dead. Otherwise it would start the
 * next one too soon.
 */
async function killPart(
  world: TestWorld,
  name: string,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  world.lab.supervisor?.hold(name);
  try {
    await world.lab.parts.get(name)?.kill('SIGKILL');
    await meanwhile();
  } finally {
    world.lab.supervisor?.release(name);
  }
}

const loseBus = (world: TestWorld): Promise<void> =>
  killPart(world, 'nats-server', () => world.lab.bus.wipeStore());

async function purgeStreams(world: TestWorld): Promise<void> {
  const connection = await connect({ servers: world.lab.natsUrl, ...busOperator });
  const manager = await jetstreamManager(connection);
  for await (const stream of manager.streams.list())
    await manager.streams.purge(stream.config.name);
  await connection.close();
}

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function drawsFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
