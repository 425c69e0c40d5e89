import type { Decision } from '@dovetail/contracts';
import { poolKey } from '@dovetail/core-api';
import { waitingWords } from '@dovetail/service-kit';

import type { CostPoint, DecisionRow, GapView, RoundRow } from '../view/frames.js';
import type { PodWords } from './cluster-board.js';
import { costHistory, CostSteps } from './cost-history.js';
import { Gaps } from './gaps.js';

/** The decisions that the book keeps whole, so that they can be opened. About 10 MB of them. */
const keptMax = 2_000;
/** The last plans that it lists. */
const roundsMax = 20;

/** The kinds of decisions that say why a pod waits. */
const aboutPods: ReadonlySet<string> = new Set(['admit', 'refuse', 'unschedulable']);

/** The decisions of the bus: the last ones whole, the rounds, and what they say of the cost. */
export class DecisionBook {
  /** By id, in the order of the bus. */
  readonly #kept = new Map<string, Decision>();
  readonly #ofPod = new Map<string, Decision>();
  readonly #lastMs = new Map<string, number>();
  readonly #steps = new CostSteps();
  readonly #gaps = new Gaps();
  #rounds: readonly Decision[] = [];
  #fresh: Decision[] = [];

  /** Takes a decision in the order of the bus. */
  take(decision: Decision): void {
    const { id, kind, source, atMs } = decision;
    this.#kept.set(id, decision);
    this.#fresh.push(decision);
    if (this.#fresh.length > keptMax) this.#fresh.shift();
    this.#lastMs.set(source, Math.max(atMs, this.#lastMs.get(source) ?? 0));
    this.#steps.take(decision);
    this.#gaps.take(decision);
    if (kind === 'plan') this.#rounds = [...this.#rounds, decision].slice(-roundsMax);
    if (aboutPods.has(kind))
      for (const { kind: of, uid } of decision.objects)
        if (of === 'Pod' && uid !== undefined) this.#ofPod.set(uid, decision);
    this.#trim();
  }

  /** A decision that is kept, whole. */
  whole(id: string): Decision | undefined {
    return this.#kept.get(id);
  }

  /** The rows of the last decisions, the oldest first. */
  rows(max: number): readonly DecisionRow[] {
    return [...this.#kept.values()].slice(-max).map(rowOf);
  }

  /** The rows of those that came since the last call, the oldest first. */
  takeFresh(): readonly DecisionRow[] {
    const fresh = this.#fresh.map(rowOf);
    this.#fresh = [];
    return fresh;
  }

  /** The last plans, the oldest first. */
  rounds(): readonly RoundRow[] {
    return this.#rounds.map(roundOf);
  }

  /** When a service made its last decision. */
  lastMs(source: string): number | undefined {
    return this.#lastMs.get(source);
  }

  /** The words of the last decision about a pod. */
  ofPod(uid: string): PodWords | undefined {
    const decision = this.#ofPod.get(uid);
    if (decision === undefined) return undefined;
    const isAdmitted = decision.kind === 'admit';
    return { ...waitingWords({ ...decision, isAdmitted }), atMs: decision.atMs };
  }

  /** The cost over time, of which the last is known. */
  cost(now: CostPoint, pointsMax: number): readonly CostPoint[] {
    return costHistory(this.#steps.all, now, pointsMax);
  }

  /** The comparisons with plans from nothing. */
  gap(pointsMax: number): GapView {
    return this.#gaps.view(pointsMax);
  }

  #trim(): void {
    for (const [id, decision] of this.#kept) {
      if (this.#kept.size <= keptMax) return;
      this.#kept.delete(id);
      for (const { uid } of decision.objects)
        if (uid !== undefined && this.#ofPod.get(uid) === decision) this.#ofPod.delete(uid);
    }
  }
}

function rowOf(decision: Decision): DecisionRow {
  const { id, kind, atMs, source, pool, summary, priceMicrosPerHour, priceEstimated } = decision;
  return {
    id,
    kind,
    atMs,
    source,
    summary,
    priceEstimated: priceEstimated ?? false,
    ...(pool === undefined ? {} : { pool: poolKey(pool) }),
    ...(priceMicrosPerHour === undefined ? {} : { priceMicrosPerHour }),
  };
}

function roundOf(decision: Decision): RoundRow {
  const { id, atMs, summary, priceMicrosPerHour, lowerBoundMicrosPerHour, facts } = decision;
  const solveMs = Number(facts['solveMs'] ?? '');
  return {
    id,
    atMs,
    summary,
    ...(priceMicrosPerHour === undefined ? {} : { priceMicrosPerHour }),
    ...(lowerBoundMicrosPerHour === undefined ? {} : { lowerBoundMicrosPerHour }),
    ...(Number.isFinite(solveMs) && facts['solveMs'] ? { solveMs } : {}),
  };
}
