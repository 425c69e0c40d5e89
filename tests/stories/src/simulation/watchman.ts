import type { StoryStage } from '../story-stage.js';
import { lawsOfBlocks } from './laws-of-blocks.js';
import { lawsOfCommands } from './laws-of-commands.js';
import { lawsOfInstances } from './laws-of-instances.js';
import { lawsOfNodes } from './laws-of-nodes.js';
import { lawsOfPools } from './laws-of-pools.js';
import { lawsOfTaints } from './laws-of-taints.js';
import { tallied, type Tally } from './tally.js';

/** A notice leaves two minutes; a pod that was lost then is replaced within a few more. */
const reclaimSeconds = 600;

/** Facts of the story that the laws need: it is no breach if a person or EC2 did it. */
export type Story = {
  readonly stage: StoryStage;
  /** When EC2 announced that it takes an instance: seconds of the story, by the instance's id. */
  readonly taken: ReadonlyMap<string, number>;
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
  ...lawsOfTaints,
  ...lawsOfBlocks,
];

/** Watches the laws that hold at every moment. */
export class Watchman {
  readonly #broken: string[] = [];
  readonly #stage: StoryStage;
  readonly #taken = new Map<string, number>();
  readonly #deletedByHand = new Set<string>();
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
    if (interrupted !== undefined)
      this.#taken.set(names.actual(interrupted), this.#stage.seconds());
    if (deleted !== undefined) this.#deletedByHand.add(names.actual(deleted));
  }

  /** A line of the story has been played. */
  looks(): void {
    for (const look of this.#looks) look();
  }

  /** A line for each breach so far. */
  broken(): readonly string[] {
    return [...this.#broken, ...this.#brokenBudgets()];
  }

  /** Breaches of disruption budgets that no reclaimed instance explains. */
  #brokenBudgets(): readonly string[] {
    return this.#stage.workloads.broken.filter((line) => {
      const at = Number(/^[\d.]+/.exec(line)?.[0]);
      return ![...this.#taken.values()].some((told) => at >= told && at <= told + reclaimSeconds);
    });
  }
}
