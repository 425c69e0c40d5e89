import {
  type GapOutcome,
  type PlannerMode,
  type PlannerOutcome,
  type PlanRequest,
  publishPlan,
  type SearchOutcome,
  type SearchRequest,
} from '@dovetail/contracts';
import type { StopSignal } from '@dovetail/core-ports';

import type { SolverConfig, SolverDeps, TellingDeps } from './config.js';
import type { Solved } from './engine.js';
import { observePlan, observeWait } from './observations.js';
import { tellPlan } from './plan-teller.js';

/**
 * How long a request waits for the mirror. The caller asks again anyway. A longer wait would
 * outlast its patience; a shorter one would fail while the feed carries a new pod.
 */
const requestPatienceMs = 2_000;
/** The longest wait for a change of the mirror before the engine is asked again. */
const changeWaitMs = 100;

/** Why a solver has no answer yet. */
const behind = 'this solver has not read the state feed to its end yet';

/**
 * Answers a what-if request. With `commit` in mode `plan`, it also sends the plan to the launcher
 * and tells its decision; the answer does not wait for the proof of its bound.
 */
export async function answerRequest(
  deps: TellingDeps,
  mode: PlannerMode,
  request: PlanRequest,
  about: Pick<SolverConfig, 'boundMs'> & { readonly stop: StopSignal },
): Promise<PlannerOutcome> {
  const { channel } = deps;
  const askedMs = channel.clock.nowMs();
  const solved = await solveAll(deps, request);
  if (solved.kind !== 'plan') return refusalOf(solved);
  const { message } = solved;
  observeWait(deps, 'request', channel.clock.nowMs() - askedMs - message.solveMs);
  const { id: planId, plan, statePosition } = message;
  const reply = { planId, plan, statePosition };
  if (request.commit === undefined || mode !== 'plan') {
    observePlan(deps, message, 'disruption');
    if (request.isRecorded === true) void deps.recorder.record(planId);
    return { ok: true, reply };
  }
  await publishPlan(channel, message);
  void tellPlan(deps, message, { ...about, planFor: 'disruption' });
  return { ok: true, reply };
}

/** Answers a search for nodes to give up. Pending pods and what-ifs are planned before it. */
export async function answerSearch(
  { engine, metrics, channel }: SolverDeps,
  request: SearchRequest,
  budgetMs: number,
): Promise<SearchOutcome> {
  const askedMs = channel.clock.nowMs();
  const searched = await engine.search(request, budgetMs);
  if (searched.kind === 'found') {
    const seconds = (channel.clock.nowMs() - askedMs) / 1_000;
    metrics.observe('dovetail_solver_search_seconds', seconds);
    return { ok: true, found: searched.found };
  }
  return notNow(searched.kind);
}

/**
 * Compares the price of the nodes with that of a plan from nothing. Pending pods and what-ifs are
 * planned before it. If the proof fails, the answer has the plan's own bound.
 */
export async function answerGap(
  { engine, metrics, channel, log }: SolverDeps,
  { budgetMs, boundMs }: Pick<SolverConfig, 'budgetMs' | 'boundMs'>,
): Promise<GapOutcome> {
  const askedMs = channel.clock.nowMs();
  const measured = await engine.gap(budgetMs, boundMs);
  if (measured.kind !== 'gap') return notNow(measured.kind);
  metrics.observe('dovetail_solver_gap_seconds', (channel.clock.nowMs() - askedMs) / 1_000);
  if (measured.failure !== undefined)
    log.warn(
      'bound-unproven',
      `the bound of a plan from nothing was not proven: ${measured.failure}`,
    );
  return { ok: true, gap: measured.gap };
}

const notNow = (kind: 'behind' | 'busy'): Extract<SearchOutcome, { readonly ok: false }> =>
  kind === 'behind'
    ? { ok: false, code: 'not-ready', message: behind }
    : {
        ok: false,
        code: 'busy',
        message: 'this solver is at work on another search or comparison',
      };

/**
 * Of the hundreds of pods of many nodes, one is always just gone. It must not hold up the others:
 * a plan for fewer pods is as true.
 */
async function solveAll(deps: SolverDeps, request: PlanRequest): Promise<Solved> {
  const solved = await solvePatiently(deps, request);
  const isJoint = (request.commit?.others ?? []).length > 0 || request.withoutNodes.length > 1;
  if (solved.kind !== 'unknown-pods' || !isJoint) return solved;
  const unknown = new Set(solved.podUids);
  const podUids = request.podUids.filter((uid) => !unknown.has(uid));
  return podUids.length === 0 ? solved : deps.engine.solveRequest({ ...request, podUids });
}

async function solvePatiently(
  { engine, channel }: SolverDeps,
  request: PlanRequest,
): Promise<Solved> {
  const untilMs = channel.clock.nowMs() + requestPatienceMs;
  let solved = await engine.solveRequest(request);
  while (isTooEarly(solved) && channel.clock.nowMs() < untilMs) {
    await engine.changed(changeWaitMs);
    solved = await engine.solveRequest(request);
  }
  return solved;
}

/** Whether the mirror may still learn of the objects that the request names. */
const isTooEarly = (solved: Solved): boolean =>
  solved.kind === 'behind' || solved.kind === 'unknown-pods';

function refusalOf(solved: Exclude<Solved, { kind: 'plan' }>): PlannerOutcome {
  switch (solved.kind) {
    case 'behind':
      return { ok: false, code: 'not-ready', message: behind };
    case 'unknown-pods':
      return {
        ok: false,
        code: 'unknown-pods',
        message: `the state feed does not have pods ${solved.podUids.join(', ')}`,
      };
    case 'nothing-pending':
      return { ok: false, code: 'failed', message: 'there was nothing to plan' };
  }
}
