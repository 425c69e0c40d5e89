import type { Decision } from '@dovetail/contracts';
import { compareText } from '@dovetail/core-kube-model';

import { Selection } from '../decisions/selection.js';

/** The kinds of objects that the kept decisions explain. The reaper explains nodes. */
export type StoryKind = 'pod' | 'pool' | 'claim' | 'decision';

/** The knowledge about an object: the decision that settled it, and its history. */
export type Story = {
  readonly kind: StoryKind;
  readonly name: string;
  /** The decision that says why the object is as it is. */
  readonly decisive: Decision;
  /** The plan of that decision, if it is another one and still kept. */
  readonly plan?: Decision;
  /** All decisions about the object, the oldest first; of a pool, the newest. */
  readonly history: readonly Decision[];
};

/** The most decisions about a pool to show. */
const poolHistoryMax = 20;

/** The decisions that settle what becomes of an object, by its kind. */
const decisiveKinds: Readonly<Record<'pod' | 'pool' | 'claim', readonly string[]>> = {
  pod: ['admit', 'refuse', 'unschedulable', 'plan'],
  // The end of a node matters more than how it came, and a launch more than a plan.
  claim: ['terminate', 'collect', 'disrupt', 'launch-failed', 'launch', 'admit', 'plan'],
  pool: ['unschedulable', 'refuse', 'launch-failed', 'plan'],
};

/** Gathers the decisions about one object, in any order, each once. */
export class StoryTeller {
  readonly #kind: StoryKind;
  readonly #name: string;
  readonly #selection: Selection;
  readonly #plans = new Map<string, Decision>();
  #taken: Decision[] = [];

  constructor(kind: StoryKind, name: string) {
    this.#kind = kind;
    this.#name = name;
    const wanted = kind === 'pool' ? {} : kind === 'decision' ? {} : { about: name };
    this.#selection = new Selection(wanted, 0);
  }

  /** Takes one decision of the stream. */
  take(decision: Decision): void {
    const { kind, planId } = decision;
    if (kind === 'plan' && planId !== undefined) this.#plans.set(planId, decision);
    for (const one of this.#selection.take(decision)) if (this.#isOurs(one)) this.#taken.push(one);
  }

  #isOurs(decision: Decision): boolean {
    if (this.#kind === 'decision') return decision.id.startsWith(this.#name);
    return this.#kind !== 'pool' || concernsPool(decision, poolName(this.#name));
  }

  /** The ids of decisions that begin with the name, if they are several and none is the name. */
  ambiguous(): readonly string[] {
    const ids = [...new Set(this.#taken.map(({ id }) => id))];
    if (this.#kind !== 'decision' || ids.length < 2 || ids.includes(this.#name)) return [];
    return ids.toSorted(compareText);
  }

  /** The story; undefined: no kept decision is about the object. */
  story(): Story | undefined {
    const all = this.#taken.toSorted((a, b) => a.atMs - b.atMs || compareText(a.id, b.id));
    const decisive = this.#decisive(all);
    if (decisive === undefined) return undefined;
    const plan = this.#plans.get(decisive.planId ?? '');
    const history = this.#kind === 'pool' ? all.slice(-poolHistoryMax) : all;
    return {
      kind: this.#kind,
      name: this.#name,
      decisive,
      ...(plan === undefined || plan.id === decisive.id ? {} : { plan }),
      history: this.#kind === 'decision' ? this.#sharing(decisive) : history,
    };
  }

  #decisive(all: readonly Decision[]): Decision | undefined {
    if (this.#kind === 'decision') return all.find(({ id }) => id === this.#name) ?? all[0];
    const kinds = decisiveKinds[this.#kind];
    if (this.#kind === 'claim')
      return (
        kinds.flatMap((kind) => all.findLast((one) => one.kind === kind) ?? [])[0] ?? all.at(-1)
      );
    return all.findLast(({ kind }) => kinds.includes(kind)) ?? all.at(-1);
  }

  /** A decision with the plan that it carries out. */
  #sharing(decisive: Decision): readonly Decision[] {
    const plan = this.#plans.get(decisive.planId ?? '');
    return plan === undefined || plan.id === decisive.id ? [decisive] : [plan, decisive];
  }
}

/** The kind and name of a pool: a name alone is a NodePool's. */
const poolName = (name: string): string => (name.includes('/') ? name : `NodePool/${name}`);

const concernsPool = ({ pool, reasons }: Decision, wanted: string): boolean =>
  (pool !== undefined && `${pool.kind}/${pool.name}` === wanted) ||
  reasons.some(({ subject }) => subject === wanted);

/** A reason, and the kind of the decision that gave it. */
export type GivenReason = Decision['reasons'][number] & { readonly decision: string };

const given = ({ kind, reasons }: Decision): readonly GivenReason[] =>
  reasons.map((reason) => ({ decision: kind, ...reason }));

/**
 * The reasons to show, equal ones once. A claim has those for buying it and for its end. Of the
 * reasons about a pool only its own count.
 */
export function reasonsOf({ kind, name, decisive, history }: Story): readonly GivenReason[] {
  const told =
    kind === 'claim'
      ? ['admit', 'launch', decisive.kind].flatMap((one) => {
          const last = history.findLast((decision) => decision.kind === one);
          return last === undefined ? [] : given(last);
        })
      : given(decisive);
  const wanted = poolName(name);
  const own = kind === 'pool' ? told.filter(({ subject }) => subject === wanted) : [];
  const all = own.length > 0 ? own : told;
  const keyed = new Map(all.map((one) => [`${one.code} ${one.subject ?? ''} ${one.message}`, one]));
  return [...keyed.values()];
}

/**
 * The other options that were considered, cheapest first: the decision's own, else those of the
 * admission of a claim, else of the plan.
 */
export function alternativesOf({ decisive, plan, history }: Story): Decision['alternatives'] {
  const admitted = history.findLast(({ kind }) => kind === 'admit');
  const candidates = [decisive, ...(admitted === undefined ? [] : [admitted])];
  const found = candidates.find(({ alternatives }) => alternatives.length > 0);
  return found?.alternatives ?? plan?.alternatives ?? [];
}
