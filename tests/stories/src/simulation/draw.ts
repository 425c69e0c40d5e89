import { at as checkedAt } from '@dovetail/core-invariant';
import { kubeResources } from '@dovetail/core-ports';
import { drawsFrom } from '@dovetail/test-support/faults';

import type { StoryStage } from '../story-stage.js';

const { nodeClaims, nodes } = kubeResources;

/** Where a process may die: the effects that each service has on the world. */
const effectsOf = {
  'pod-watcher': ['publish batch', 'publish pod', 'patch pods/status'],
  solver: ['publish plan'],
  launcher: [
    'create nodeclaims',
    'ensureLaunchTemplate',
    'createFleet',
    'tagInstances',
    'patch nodeclaims',
    'patch nodeclaims/status',
    'patch nodes',
    'bind',
  ],
  reaper: ['patch nodes', 'patch nodeclaims', 'evict', 'delete nodeclaims', 'terminate'],
} as const;

/** The world in which the users and faults of a simulation act, in the language of the stories. */
export const beginning = [
  'class default',
  'pool spot capacity=spot consolidate=30s',
  'pool steady capacity=on-demand empty=30s expire=2h',
  'start services',
  'run 30s',
] as const;

const apps = ['web', 'db', 'job'] as const;
const types = ['m5.large', 'm5.xlarge', 'm5.2xlarge'] as const;
const zones = ['us-west-2a', 'us-west-2b'] as const;

/** So many that a node whose pods all go at once breaks the budget. */
const budgetMin = 3;

type Move = { readonly weight: number; readonly lines: (hand: Hand) => readonly string[] };

/** The moves that may come next, and how often each does. */
const moves: readonly Move[] = [
  { weight: 8, lines: (hand) => hand.scale() },
  { weight: 4, lines: (hand) => hand.kill() },
  { weight: 2, lines: (hand) => hand.capacity() },
  { weight: 2, lines: (hand) => hand.interrupt() },
  { weight: 1, lines: (hand) => hand.deleted('node') },
  { weight: 1, lines: (hand) => hand.deleted('claim') },
  { weight: 1, lines: (hand) => hand.drift() },
  { weight: 1, lines: () => ['run 10m'] },
];

/** How much happens: something every minute, or mostly nothing, as in the life of a cluster. */
export type Pace = 'busy' | 'calm';

const movesAt: Readonly<Record<Pace, readonly Move[]>> = {
  busy: moves,
  calm: [...moves, { weight: 6, lines: () => ['run 1h'] }],
};

/**
 * Draws what users and faults do, as lines of a story. Equal seeds on equal stages draw the same
 * lines.
 */
export class Hand {
  readonly #stage: StoryStage;
  readonly #next: () => number;
  readonly #moves: readonly Move[];
  readonly #replicas = new Map<string, string>();
  readonly #sizes = new Map<string, string>();
  readonly #budgets = new Set<string>();
  #started = 1;

  constructor(seed: number, stage: StoryStage, pace: Pace) {
    this.#stage = stage;
    this.#moves = movesAt[pace];
    this.#next = drawsFrom(seed);
  }

  /** The next lines: a move, and the time until the next one. */
  lines(): readonly string[] {
    const all = this.#moves.reduce((sum, { weight }) => sum + weight, 0);
    let left = this.#next() * all;
    const move = this.#moves.find(({ weight }) => (left -= weight) < 0);
    return [...(move?.lines(this) ?? []), `run ${String(5 + Math.floor(this.#next() * 85))}s`];
  }

  scale(): readonly string[] {
    const app = this.#one(apps);
    const cpu = this.#sizes.get(app) ?? this.#one(['0.5', '1', '3']);
    const isNew = !this.#sizes.has(app);
    this.#sizes.set(app, cpu);
    if (isNew && this.#next() < 0.5) this.#budgets.add(app);
    // An owner that scales an app below its budget breaks it without us.
    const fewest = this.#budgets.has(app) ? budgetMin + 1 : 0;
    const line = `scale ${app} ${String(fewest + Math.floor(this.#next() * 8))} cpu=${cpu}`;
    return isNew && this.#budgets.has(app)
      ? [line, `budget ${app} at least ${String(budgetMin)}`]
      : [line];
  }

  /** A process dies, now or around an effect, and another one starts, as a Deployment does. */
  kill(): readonly string[] {
    const service = this.#one(Object.keys(effectsOf) as (keyof typeof effectsOf)[]);
    const replica = this.#replicas.get(service) ?? service;
    this.#started += 1;
    const successor = `${service}-${String(this.#started)}`;
    this.#replicas.set(service, successor);
    const around =
      this.#next() < 0.3
        ? ''
        : ` ${this.#one(['before', 'after'])} ${this.#one<string>(effectsOf[service])}`;
    return [`kill ${replica}${around}`, `start ${service} as ${successor}`];
  }

  capacity(): readonly string[] {
    const free = this.#one(['no', '1', 'unlimited', 'unlimited']);
    return [`ec2 ${this.#one(types)}@${this.#one(zones)} has ${free} capacity`];
  }

  /** An owner changes a pool's template, so that its nodes drift. */
  drift(): readonly string[] {
    return [`label pool ${this.#one(['spot', 'steady'])} team=${this.#one(['a', 'b', 'c'])}`];
  }

  interrupt(): readonly string[] {
    const spot = this.#stage.runningInstances().filter((id) => {
      const { capacityType } = this.#stage.twin.instances.get(id);
      return capacityType === 'spot';
    });
    if (spot.length === 0) return [];
    return [`ec2 interrupts ${this.#stage.narrator.names.add('i', this.#one(spot))}`];
  }

  deleted(kind: 'node' | 'claim'): readonly string[] {
    const present = this.#stage.names(kind === 'node' ? nodes : nodeClaims);
    if (present.length === 0) return [];
    return [`delete ${kind} ${this.#stage.narrator.names.add(kind, this.#one(present))}`];
  }

  #one<T>(values: readonly T[]): T {
    return checkedAt(values, Math.floor(this.#next() * values.length));
  }
}

/** All faults end: EC2 has room again, and one process of each service runs. */
export const ending: readonly string[] = [
  ...types.flatMap((type) => zones.map((zone) => `ec2 ${type}@${zone} has unlimited capacity`)),
  ...Object.keys(effectsOf).map((service) => `start ${service} as ${service}-end`),
  'run 20m',
];
