import type { ControlPlaneKind } from '@dovetail/testbed';

import { denyRights, fillStreams, pauseLeader, purgeStreams } from './lasting-faults.js';
import type { TestWorld } from './world.js';

/** Faults that may strike at any moment. The first six are those of `make test`. */
const faults = [
  'kill pod-watcher',
  'kill one of three solvers',
  'kill launcher',
  'kill reaper',
  'kill NATS and delete its store',
  'purge all streams',
  'kill the API server',
  'deny launching and ending instances',
  'fill all streams',
  'pause the leading launcher',
  'pause the leading reaper',
] as const;
export type Fault = (typeof faults)[number];

/** The faults of every run of the tests; `npm run faults` strikes with all of them. */
export const briefFaults: readonly Fault[] = faults.slice(0, 6);

/** The faults that can strike in a world: the twin keeps its objects in memory. */
export const faultsOf = (world: ControlPlaneKind): readonly Fault[] =>
  world === 'real' ? faults : faults.filter((fault) => fault !== 'kill the API server');

const strikes: Readonly<Record<Fault, (world: TestWorld) => Promise<void>>> = {
  'kill pod-watcher': (world) => killPart(world, 'pod-watcher'),
  'kill one of three solvers': (world) => killPart(world, 'solver-1'),
  'kill launcher': (world) => killPart(world, 'launcher'),
  'kill reaper': (world) => killPart(world, 'reaper'),
  'kill NATS and delete its store': (world) =>
    killPart(world, 'nats-server', () => world.lab.bus.wipeStore()),
  'purge all streams': purgeStreams,
  'kill the API server': (world) => killPart(world, 'apiserver'),
  'deny launching and ending instances': denyRights,
  'fill all streams': fillStreams,
  'pause the leading launcher': (world) => pauseLeader(world, 'launcher'),
  'pause the leading reaper': (world) => pauseLeader(world, 'reaper'),
};

/**
 * Causes the fault, and returns when it is over. The lab's supervisor restarts killed processes, as
 * a Deployment would.
 */
export const strike = (world: TestWorld, fault: Fault): Promise<void> => strikes[fault](world);

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
