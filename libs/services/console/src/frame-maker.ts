import type { FleetNode } from '@dovetail/core-fleet';

import type { ConsoleConfig } from './config.js';
import type { ClusterBoard } from './mirror/cluster-board.js';
import type { DecisionBook } from './mirror/decision-book.js';
import { serviceRows, type SolversLag } from './mirror/services.js';
import type { BusLink, Frame, ViewParts } from './view/frames.js';
import { decisionsShownMax } from './view/view.js';

/** The sources of a frame. */
export type FrameSources = {
  readonly board: ClusterBoard;
  readonly book: DecisionBook;
  readonly bus: BusLink;
  readonly lag: SolversLag;
  readonly nowMs: number;
};

const partNames = ['pools', 'waiting', 'cost', 'gap', 'rounds', 'services'] as const;

/** Makes frames: the whole view for a new page, and the changes since the last frame for all. */
export class FrameMaker {
  readonly #cluster: string;
  readonly #config: ConsoleConfig;
  /** The nodes of the last frame, with their text to compare with. */
  #nodes = new Map<string, { readonly text: string; readonly node: FleetNode }>();
  #parts: ViewParts = {
    pools: [],
    waiting: { total: 0, rows: [] },
    cost: [],
    gap: { bounds: [] },
    rounds: [],
    services: [],
  };
  #partTexts = new Map<string, string>();

  constructor(cluster: string, config: ConsoleConfig) {
    this.#cluster = cluster;
    this.#config = config;
  }

  /** The changes since the last call. */
  change(from: FrameSources): Frame {
    const nodes = this.#nodeChange(from.board.nodes());
    this.#parts = this.#partsOf(from);
    const changed = partNames.filter((name) => this.#isNew(name));
    const decisions = from.book.takeFresh().slice(-decisionsShownMax);
    return {
      kind: 'change',
      ...this.#head(from),
      ...(nodes.set.length + nodes.gone.length === 0 ? {} : { nodes }),
      ...(decisions.length === 0 ? {} : { decisions }),
      ...Object.fromEntries(changed.map((name) => [name, this.#parts[name]])),
    };
  }

  /** Everything as of the last call of `change`. */
  whole(from: FrameSources): Frame {
    return {
      kind: 'whole',
      ...this.#head(from),
      nodes: { set: [...this.#nodes.values()].map(({ node }) => node), gone: [] },
      decisions: from.book.rows(decisionsShownMax),
      ...this.#parts,
    };
  }

  #head({ bus, nowMs }: FrameSources): Pick<Frame, 'cluster' | 'bus' | 'nowMs'> {
    return { cluster: this.#cluster, bus, nowMs };
  }

  #nodeChange(nodes: readonly FleetNode[]): NonNullable<Frame['nodes']> {
    const before = this.#nodes;
    this.#nodes = new Map(nodes.map((node) => [node.uid, { text: JSON.stringify(node), node }]));
    return {
      set: [...this.#nodes.values()]
        .filter(({ text, node }) => before.get(node.uid)?.text !== text)
        .map(({ node }) => node),
      gone: [...before.keys()].filter((uid) => !this.#nodes.has(uid)),
    };
  }

  #partsOf({ board, book, lag, nowMs }: FrameSources): ViewParts {
    const { waitingMax, costPointsMax } = this.#config;
    const micros = [...this.#nodes.values()].reduce(
      (sum, { node }) => sum + (node.priceMicrosPerHour ?? 0),
      0,
    );
    return {
      pools: board.pools(),
      waiting: {
        total: board.waitingCount,
        rows: board.waiting(waitingMax, (uid) => book.ofPod(uid)),
      },
      cost: this.#costOf(book, [nowMs, micros], costPointsMax),
      gap: book.gap(costPointsMax),
      rounds: book.rounds(),
      services: serviceRows(board, book, lag),
    };
  }

  /** The page draws the last point on to the present, so that time alone is no change. */
  #costOf(
    book: DecisionBook,
    now: readonly [number, number],
    pointsMax: number,
  ): ViewParts['cost'] {
    const last = this.#parts.cost.at(-1);
    const points = book.cost(now, pointsMax);
    const isSame = last !== undefined && last[1] === now[1] && points.length > 0;
    return isSame && points.length === this.#parts.cost.length ? this.#parts.cost : points;
  }

  #isNew(name: (typeof partNames)[number]): boolean {
    const text = JSON.stringify(this.#parts[name]);
    const isNew = this.#partTexts.get(name) !== text;
    this.#partTexts.set(name, text);
    return isNew;
  }
}
