import { annotations, parsePromise, type NodeClaim } from '@dovetail/core-api';
import { isReschedulable } from '@dovetail/core-kube-model';
import { disruptionBlocks, type EligibilityOptions } from './eligibility.js';
import { podsThatCount } from './emptiness.js';
import { note, type DisruptionNote } from './refusal.js';
import { conditionTrueSinceMs, type NodeView } from './view.js';

/** Why we retire a node. Drift and under-use join here with their methods. */
export type RetirementCause = 'empty' | 'expired' | 'interrupted';

/**
 * A retirement in progress, as the annotation `dovetail.sh/retirement` on its Node says it: all that a successor needs to go on
 * after a crash. Written together with the taint, taken away with it when the retirement is given up.
 */
export type Retirement = {
  readonly cause: RetirementCause;
  /** When it began, milliseconds since 1970. */
  readonly atMs: number;
  /** When the instance goes away by itself: two minutes after a Spot notice. */
  readonly deadlineMs?: number;
  /** What exactly happened: the kind of interruption. */
  readonly detail?: string;
  /** When a solver was last asked for a replacement. Written before it is asked: a crash in between costs a wait, never a second node. */
  readonly askedMs?: number;
  /** How many new nodes the solver's answer has; absent: it has not answered, or could not place the pods. */
  readonly expects?: number;
  /** A solver has answered, whatever it said. */
  readonly answered?: boolean;
};

const causes: readonly string[] = ['empty', 'expired', 'interrupted'] satisfies readonly RetirementCause[];
const numberFields = ['deadlineMs', 'askedMs', 'expects'] as const;

/** Reads the annotation. Undefined when it is absent or nothing that we write: then the node is not being retired by us. */
export function parseRetirement(text: string | undefined): Retirement | undefined {
  let value: unknown;
  try { value = text === undefined ? undefined : JSON.parse(text); } catch { return undefined; }
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  const { cause, atMs, detail, answered } = fields;
  if (typeof cause !== 'string' || !causes.includes(cause) || typeof atMs !== 'number') return undefined;
  const numbers = Object.fromEntries(numberFields.flatMap((key) => (typeof fields[key] === 'number' ? [[key, fields[key]]] : [])));
  return { cause: cause as RetirementCause, atMs, ...numbers, ...(typeof detail === 'string' ? { detail } : {}), ...(answered === true ? { answered } : {}) };
}

/** The annotation's text; equal retirements give equal text. */
export const renderRetirement = ({ cause, atMs, deadlineMs, detail, askedMs, expects, answered }: Retirement): string =>
  JSON.stringify({ cause, atMs, deadlineMs, detail, askedMs, expects, answered });

export type RetirementLimits = {
  /** A node without a deadline (expired, or announced for maintenance) waits this long for its replacement, once a solver has answered. */
  readonly expiryWaitMs: number;
  /** A node that will be taken away waits this long for its replacement before it is drained. */
  readonly interruptionWaitMs: number;
  /** A plan that has not become claims by then never will (plans live 60 s): ask again. */
  readonly askAgainMs: number;
  /** The same for a node with a deadline: there a replacement too many costs less than one too late. A newer plan for a node takes the place of one that nobody has taken yet. */
  readonly askAgainUrgentMs: number;
};

export type RetirementFacts = EligibilityOptions & {
  readonly retirement: Retirement;
  readonly view: NodeView;
  /** The claims that say they replace this node. */
  readonly replacements: readonly NodeClaim[];
  readonly limits: RetirementLimits;
};

/** What to do about a retirement now. */
export type RetirementStep =
  | { readonly kind: 'abandon'; readonly notes: readonly DisruptionNote[] }
  /** Delete the claim: the rest is termination's. */
  | { readonly kind: 'end'; readonly note?: DisruptionNote }
  | { readonly kind: 'ask' }
  | { readonly kind: 'wait'; readonly untilMs: number };

/** The claims whose promise says that they replace the node. */
export const replacementsOf = (claims: Iterable<NodeClaim>, nodeUid: string): readonly NodeClaim[] =>
  [...claims].filter((claim) => claim.deletionMs === undefined && parsePromise(claim.annotations[annotations.promise])?.replaces?.nodeUid === nodeUid);

/** The second look at an empty node, after the taint: pods or promises that came in between win. */
function emptyStep(facts: RetirementFacts): RetirementStep {
  const pods = podsThatCount(facts.view.pods);
  const first = pods[0];
  const notes = first === undefined ? disruptionBlocks(facts.view, { ...facts, retiring: true })
    : [note('not-empty', `${String(pods.length)} pods came before the taint`, { pods: pods.length, first: `${first.namespace}/${first.name}` })];
  return notes.length === 0 ? { kind: 'end' } : { kind: 'abandon', notes };
}

function waitLimitMs({ retirement, limits }: RetirementFacts): number {
  if (retirement.deadlineMs !== undefined) return Math.min(retirement.atMs + limits.interruptionWaitMs, retirement.deadlineMs);
  // Without a solver nobody knows where the pods would go: a node whose end has no hour can wait, its pods cannot.
  return retirement.answered === true ? retirement.atMs + limits.expiryWaitMs : Infinity;
}

/**
 * Decides how a retirement goes on. An empty node is looked at again and ends, or is let go. Any other node ends when no pod needs
 * another place, when the planner has found room on nodes that exist, or when as many replacements as it planned are Initialized;
 * failing that, when waiting any longer would cost the pods their grace.
 */
export function retirementStep(facts: RetirementFacts): RetirementStep {
  const { retirement, view, replacements, nowMs, limits } = facts;
  if (retirement.cause === 'empty') return emptyStep(facts);
  if (!view.pods.some((pod) => isReschedulable(pod))) return { kind: 'end' };
  if (retirement.expects === 0) return { kind: 'end' };
  const ready = replacements.filter((claim) => conditionTrueSinceMs(claim, 'Initialized') !== undefined).length;
  if (ready > 0 && ready >= (retirement.expects ?? replacements.length)) return { kind: 'end' };
  const limitMs = waitLimitMs(facts);
  if (nowMs >= limitMs) {
    const waitedSeconds = Math.floor((nowMs - retirement.atMs) / 1000);
    return { kind: 'end', note: note('replacement-missing', `no replacement after ${String(waitedSeconds)} s; draining all the same`, { waitedSeconds, ready, expected: retirement.expects ?? 0 }) };
  }
  const againMs = retirement.deadlineMs === undefined ? limits.askAgainMs : limits.askAgainUrgentMs;
  const askMs = retirement.askedMs === undefined ? nowMs : retirement.askedMs + againMs;
  if (replacements.length === 0 && nowMs >= askMs) return { kind: 'ask' };
  return { kind: 'wait', untilMs: Math.min(limitMs, replacements.length === 0 ? askMs : nowMs + againMs) };
}
