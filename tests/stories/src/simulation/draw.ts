import { serviceNames } from '../services.js';
import type { StoryStage } from '../story-stage.js';
import { faultMoves, types, zones } from './fault-moves.js';
import { Hand, type Move } from './hand.js';
import { apps, budgetMin, pools, userMoves } from './user-moves.js';
import type { World } from './world.js';

/** The lines before anything is drawn. */
const beginning = [
  'class default',
  'app db has volumes',
  'pool spot capacity=spot consolidate=30s',
  'pool steady capacity=on-demand empty=30s expire=2h budget=2',
  'start services',
  'run 30s',
] as const;

/**
 * How much happens: something every minute, or mostly nothing, as in the life of a cluster. `quiet`
 * is as busy, and nothing goes wrong.
 */
export type Pace = 'busy' | 'calm' | 'quiet';

const movesAt: Readonly<Record<Pace, (world: World) => readonly Move[]>> = {
  busy: ({ users, faults }) => [...users, ...faults],
  calm: ({ users, faults, more = [] }) => [
    ...users,
    ...faults,
    ...more,
    { weight: 12, lines: () => ['run 1h'] },
  ],
  quiet: ({ users }) => users,
};

/**
 * Draws what users and faults do, as lines of a story. Equal seeds on equal stages draw the same
 * lines.
 */
export class Draw {
  readonly #hand: Hand;
  readonly #moves: readonly Move[];

  constructor(seed: number, stage: StoryStage, { pace, world }: { pace: Pace; world: World }) {
    this.#hand = new Hand(seed, stage);
    this.#moves = movesAt[pace](world);
  }

  /** The lines before all others. */
  beginning(world: World): readonly string[] {
    return world.beginning(this.#hand);
  }

  /** The next lines: a move, and the time until the next one. */
  lines(): readonly string[] {
    const hand = this.#hand;
    let left = hand.below(this.#moves.reduce((sum, { weight }) => sum + weight, 0));
    const move = this.#moves.find(({ weight }) => (left -= weight) < 0);
    return [...(move?.lines(hand) ?? []), `run ${String(hand.between(5, 89))}s`];
  }
}

/** All faults end: nothing is refused or lost, EC2 has room, and each service runs once. */
const ending: readonly string[] = [
  'faults end',
  ...types.flatMap((type) => zones.map((zone) => `ec2 ${type}@${zone} has unlimited capacity`)),
  ...pools.map((pool) => `limit pool ${pool} none`),
  ...apps.map((app) => `budget ${app} at most ${String(budgetMin)}`),
  ...serviceNames.map((service) => `start ${service} as ${service}-end`),
  'run 20m',
];

/** Two pools, few types, and one replica of each service. Nearly every kind of fault happens. */
export const plainWorld: World = {
  beginning: () => beginning,
  users: userMoves,
  faults: faultMoves,
  ending,
};
