import { serviceNames } from '../services.js';
import type { StoryStage } from '../story-stage.js';
import { faultMoves, types, zones } from './fault-moves.js';
import { Hand, type Move } from './hand.js';
import { apps, budgetMin, pools, userMoves } from './user-moves.js';

/** The world in which the users and faults of a simulation act, in the language of the stories. */
export const beginning = [
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

const all = [...userMoves, ...faultMoves];
const movesAt: Readonly<Record<Pace, readonly Move[]>> = {
  busy: all,
  calm: [...all, { weight: 12, lines: () => ['run 1h'] }],
  quiet: userMoves,
};

/**
 * Draws what users and faults do, as lines of a story. Equal seeds on equal stages draw the same
 * lines.
 */
export class Draw {
  readonly #hand: Hand;
  readonly #moves: readonly Move[];

  constructor(seed: number, stage: StoryStage, pace: Pace) {
    this.#hand = new Hand(seed, stage);
    this.#moves = movesAt[pace];
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
export const ending: readonly string[] = [
  'faults end',
  ...types.flatMap((type) => zones.map((zone) => `ec2 ${type}@${zone} has unlimited capacity`)),
  ...pools.map((pool) => `limit pool ${pool} none`),
  ...apps.map((app) => `budget ${app} at most ${String(budgetMin)}`),
  ...serviceNames.map((service) => `start ${service} as ${service}-end`),
  'run 20m',
];
