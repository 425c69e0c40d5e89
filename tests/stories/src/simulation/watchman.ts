import type { StoryStage } from '../story-stage.js';
import { instanceOfNode, nodesOn, stayingPods } from './facts.js';
import { lawsOfBlocks } from './laws-of-blocks.js';
import { lawsOfCommands } from './laws-of-commands.js';
import { goesForHealth, lawsOfHealth } from './laws-of-health.js';
import { lawsOfInstances } from './laws-of-instances.js';
import { lawsOfMoves } from './laws-of-moves.js';
import { lawsOfNodes } from './laws-of-nodes.js';
import { lawsOfPools } from './laws-of-pools.js';
import { lawsOfTaints } from './laws-of-taints.js';
import { tallied, type Tally } from './tally.js';

/** A notice leaves two minutes; a pod that was lost then is replaced within a few more. */
const reclaimSeconds = 600;

/** That EC2 announces that it takes an instance. */
type Taken = {
  /** When, in seconds of the story. */
  readonly toldSeconds: number;
  /** Whether any pod was on its node then that no one had asked to end. */
  readonly isInUse: boolean;
};

/** Facts of the story that the laws need: it is no breach if a person or EC2 did it. */
export type Story = {
  readonly stage: StoryStage;
  /** The instances whose end EC2 has announced, by id. */
  readonly taken: ReadonlyMap<string, Taken>;
  /** Names of the nodes and claims that a person deleted. */
  readonly deletedByHand: ReadonlySet<string>;
  /** Tells of a breach. */
  readonly tell: (what: string) => void;
};

/**
 * A law that holds at every moment: it looks at what happens, and tells of breaches. The function
 * that it returns looks again after each line of the story.
 */
export type Law = (story: Story) => void | (() => void);

const laws: readonly Law[] = [
  ...lawsOfInstances,
  ...lawsOfNodes,
  ...lawsOfPools,
  ...lawsOfCommands,
  ...lawsOfMoves,
  ...lawsOfTaints,
  ...lawsOfBlocks,
  ...lawsOfHealth,
];

/** Watches the laws that hold at every moment. */
export class Watchman {
  readonly #broken: string[] = [];
  readonly #stage: StoryStage;
  readonly #taken = new Map<string, Taken>();
  readonly #deletedByHand = new Set<string>();
  /** When nodes began to go for their health, in seconds of the story. Their pods have no say. */
  readonly #forced: number[] = [];
  readonly #looks: (() => void)[] = [];
  /** Counts what has happened. */
  readonly tally: () => Tally;

  constructor(stage: StoryStage) {
    this.#stage = stage;
    const story: Story = {
      stage,
      taken: this.#taken,
      deletedByHand: this.#deletedByHand,
      tell: (what) => {
        this.#broken.push(`${String(Math.floor(stage.seconds()))}s ${what}`);
      },
    };
    this.tally = tallied(stage);
    stage.store.subscribe(({ table, object, before }) => {
      if (table !== 'nodes' || before === undefined) return;
      if (goesForHealth(object) && !goesForHealth(before)) this.#forced.push(stage.seconds());
    });
    for (const law of laws) {
      const look = law(story);
      if (look !== undefined) this.#looks.push(look);
    }
  }

  /** A line of the story is about to be played. */
  hears(line: string): void {
    const [, interrupted] = /^ec2 interrupts (\S+)$/.exec(line) ?? [];
    const [, deleted] = /^delete (?:node|claim) (\S+)$/.exec(line) ?? [];
    const { names } = this.#stage.narrator;
    if (interrupted !== undefined) this.#take(names.actual(interrupted));
    if (deleted !== undefined) this.#deletedByHand.add(names.actual(deleted));
  }

  #take(instanceId: string): void {
    const node = nodesOn(this.#stage).find((each) => instanceOfNode(each) === instanceId);
    const pods = node === undefined ? [] : stayingPods(this.#stage, node.metadata.name);
    this.#taken.set(instanceId, { toldSeconds: this.#stage.seconds(), isInUse: pods.length > 0 });
  }

  /** A line of the story has been played. */
  looks(): void {
    for (const look of this.#looks) look();
  }

  /** A line for each breach so far. */
  broken(): readonly string[] {
    return [...this.#broken, ...this.#brokenBudgets()];
  }

  /** Breaches of disruption budgets that no reclaimed or broken instance explains. */
  #brokenBudgets(): readonly string[] {
    return this.#stage.workloads.broken.filter((line) => {
      const at = Number(/^[\d.]+/.exec(line)?.[0]);
      const ends = [...this.#taken.values()].map(({ toldSeconds }) => toldSeconds);
      return ![...ends, ...this.#forced].some((from) => at >= from && at <= from + reclaimSeconds);
    });
  }
}
