import { type Channel, limits, type MalformedMessage, type PendingBatch, type PlanMessage, type PlannerMode, type PlannerOutcome, type PlanRequest, publishDecision, publishPlan, servePlanner, streamName, streamSpecs, subjects, type Work, workBatches } from '@dovetail/contracts';
import { BusError, type Log, type Metrics, Stopper, type StopSignal } from '@dovetail/core-ports';
import { decisionOfPlan, decisionOfUnreadable } from './decisions.js';
import type { EnginePort } from './engine-port.js';

export type SolverDeps = { readonly channel: Channel; readonly engine: EnginePort; readonly log: Log; readonly metrics: Metrics };

export type SolverConfig = {
  /** Time for improving a plan of pending pods, in milliseconds. */
  readonly budgetMs: number;
  /** The most time for improving a plan that somebody asks for, whatever they ask for: one question must not hold up the others. */
  readonly requestBudgetMaxMs: number;
  /** How long a batch may wait for the mirror before it is given back, in milliseconds. */
  readonly patienceMs: number;
  /** Deliveries that failed, after which a batch ends with a decision. */
  readonly failuresMax: number;
};

export const defaultSolverConfig: SolverConfig = { budgetMs: 100, requestBudgetMaxMs: 2_000, patienceMs: 10_000, failuresMax: 3 };

/**
 * Follows state and catalog into the engine, plans batches from the queue and answers what-if requests, until `stop`.
 * A batch is acked after the bus has taken its plan; whatever dies before that is done again elsewhere.
 */
export async function runSolver(deps: SolverDeps, config: SolverConfig, stop: StopSignal): Promise<void> {
  const { channel, engine } = deps;
  await ensureStreams(deps, stop);
  await Promise.all([
    feed(deps, 'state', (event) => engine.state(event), stop),
    feed(deps, 'catalog', (event) => engine.catalog(event), stop),
    planBatches(deps, config, stop),
    servePlanner(channel, (mode, request) => answer(deps, mode, { ...request, budgetMs: Math.min(request.budgetMs, config.requestBudgetMaxMs) }), stop),
  ]);
}

/** Names and counts what the engine could not read of the streams that it follows. */
export const tellMalformed = ({ log, metrics }: Pick<SolverDeps, 'log' | 'metrics'>) => ({ subject, field, reason }: MalformedMessage): void => {
  log.warn('message-malformed', `${subject}: ${field}: ${reason}`, { subject, field });
  metrics.count('dovetail_malformed_messages_total', { message: subject.split('.')[2] ?? '', field });
};

async function ensureStreams({ channel, log }: SolverDeps, stop: StopSignal): Promise<void> {
  while (!stop.aborted) {
    try {
      await channel.bus.ensureStreams(streamSpecs(channel.cluster));
      return;
    } catch (error) {
      log.warn('streams-not-ready', `the streams could not be made: ${messageOf(error)}; trying again`);
      await channel.clock.sleep(1_000, stop);
    }
  }
}

async function feed({ channel }: SolverDeps, role: 'state' | 'catalog', apply: EnginePort['state'], stop: StopSignal): Promise<void> {
  const filter = role === 'state' ? subjects.stateAll(channel.cluster) : subjects.catalogAll(channel.cluster);
  for await (const event of channel.bus.follow({ stream: streamName(channel.cluster, role), filters: [filter] }, stop)) apply(event);
}

async function planBatches(deps: SolverDeps, config: SolverConfig, stop: StopSignal): Promise<void> {
  const failures = new Failures();
  for await (const work of workBatches(deps.channel, stop)) {
    try {
      await planBatch(deps, config, work, stop);
      failures.over(work);
    } catch (error) {
      await giveBack(deps, { config, work, error, failed: error instanceof BusError ? 0 : failures.again(work) });
    }
  }
}

/** Failures per batch: deliveries alone also count solvers that died or were behind, which is no fault of the batch. */
class Failures {
  readonly #counts = new Map<string, number>();
  again(work: Work<PendingBatch>): number {
    const { subject, sequence } = work.item.message;
    // Only the newest batch of a group can come again.
    const key = `${subject} ${String(sequence)}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.over(work);
    this.#counts.set(key, count);
    return count;
  }
  over(work: Work<PendingBatch>): void {
    for (const key of [...this.#counts.keys()]) if (key.startsWith(`${work.item.message.subject} `)) this.#counts.delete(key);
  }
}

async function planBatch(deps: SolverDeps, config: SolverConfig, work: Work<PendingBatch>, stop: StopSignal): Promise<void> {
  const { channel, engine, log, metrics } = deps;
  if (!work.read.ok) {
    log.error('batch-malformed', `a batch cannot be read: ${work.read.field}: ${work.read.reason}`, { subject: work.item.message.subject });
    metrics.count('dovetail_malformed_messages_total', { message: 'PendingBatch', field: work.read.field });
    await publishDecision(channel, decisionOfUnreadable(channel, work.item.message.subject, work.read));
    return work.item.ack();
  }
  const batch = work.read.value;
  const takenMs = channel.clock.nowMs();
  waited(deps, 'batch', takenMs - batch.cutAtMs);
  const untilMs = takenMs + config.patienceMs;
  for (;;) {
    const solved = await keeping(deps, work, () => engine.solveBatch(batch, config.budgetMs));
    if (solved.kind === 'plan') return finish(deps, work, solved.message);
    if (solved.kind !== 'behind') return work.item.ack();
    if (channel.clock.nowMs() >= untilMs || stop.aborted) {
      // Not a failure of ours: the batch is cut from a feed that this mirror does not have (yet). A newer batch will come.
      log.warn('mirror-behind', 'the mirror has not reached the batch in time; it is given back', { group: batch.group, position: batch.statePosition });
      return work.item.nak(1_000);
    }
    await keeping(deps, work, () => engine.changed(Math.min(250, untilMs - channel.clock.nowMs())));
  }
}

/** Keeps the batch while something goes on that may take longer than the queue waits for a silent worker. */
async function keeping<T>({ channel, log }: SolverDeps, work: Work<PendingBatch>, run: () => Promise<T>): Promise<T> {
  const done = new Stopper();
  const keep = async (): Promise<void> => {
    for (;;) {
      await channel.clock.sleep(limits.ackWaitMs / 3, done);
      if (done.aborted) return;
      await work.item.working().catch((error: unknown) => log.debug('batch-not-kept', `the queue did not hear that a batch is worked on: ${messageOf(error)}`));
    }
  };
  void keep();
  try {
    return await run();
  } finally {
    done.abort();
  }
}

async function finish(deps: SolverDeps, work: Work<PendingBatch>, message: PlanMessage): Promise<void> {
  const { channel, log } = deps;
  await publishPlan(channel, message);
  await work.item.ack();
  record(deps, message);
  log.info('planned', `planned ${message.plan.stats.pods} pods: ${message.plan.newNodes.length} new nodes, ${message.plan.placements.length} existing, ${message.plan.unplaced.length} pods unplaced`, {
    planId: message.id, pods: message.plan.stats.pods, newNodes: message.plan.newNodes.length, unplaced: message.plan.unplaced.length, solveMs: message.solveMs, priceMicrosPerHour: message.plan.priceMicrosPerHour,
  });
  await publishDecision(channel, decisionOfPlan(channel, message)).catch((error: unknown) => log.warn('decision-lost', `the decision of plan ${message.id} could not be told: ${messageOf(error)}`));
}

/** Batches wait for a solver, and requests for the planning thread, which does one thing after the other. */
const waited = ({ metrics }: SolverDeps, work: 'batch' | 'request', ms: number): void =>
  metrics.observe('dovetail_solver_queue_wait_seconds', Math.max(0, ms) / 1_000, { work });

function record({ metrics }: SolverDeps, { plan, solveMs }: PlanMessage): void {
  metrics.observe('karpenter_scheduler_scheduling_duration_seconds', solveMs / 1_000, { controller: 'solver' });
  metrics.observe('dovetail_solver_classes', plan.stats.classes);
  if (plan.bound.priceMicrosPerHour > 0 && plan.newNodes.length > 0) metrics.observe('dovetail_solver_gap_ratio', plan.priceMicrosPerHour / plan.bound.priceMicrosPerHour - 1);
  for (const { reasons } of plan.unplaced) metrics.count('dovetail_solver_unplaced_total', { reason: reasons[0]?.code ?? 'none' });
}

type Failed = { readonly config: SolverConfig; readonly work: Work<PendingBatch>; readonly error: unknown; readonly failed: number };

async function giveBack({ channel, log, metrics }: SolverDeps, { config, work, error, failed }: Failed): Promise<void> {
  const { subject } = work.item.message;
  metrics.count('dovetail_solver_failures_total');
  log.error('batch-failed', `planning a batch failed (${String(failed)} times here): ${messageOf(error)}`, { subject });
  try {
    if (failed >= config.failuresMax) {
      await publishDecision(channel, decisionOfUnreadable(channel, subject, { field: 'batch', reason: `planning failed ${String(failed)} times: ${messageOf(error)}` }));
      return await work.item.ack();
    }
    await work.item.nak(500 * Math.max(1, failed));
  } catch (lost) {
    log.warn('batch-unanswered', `a batch could neither be acked nor given back: ${messageOf(lost)}; it will be delivered again`);
  }
}

async function answer(deps: SolverDeps, mode: PlannerMode, request: PlanRequest): Promise<PlannerOutcome> {
  const { engine, channel } = deps;
  const askedMs = channel.clock.nowMs();
  const untilMs = askedMs + 2_000;
  let solved = await engine.solveRequest(request);
  while ((solved.kind === 'behind' || solved.kind === 'unknown-pods') && channel.clock.nowMs() < untilMs) {
    await engine.changed(100);
    solved = await engine.solveRequest(request);
  }
  if (solved.kind === 'behind') return { ok: false, code: 'not-ready', message: 'this solver has not read the state feed to its end yet' };
  if (solved.kind === 'unknown-pods') return { ok: false, code: 'unknown-pods', message: `the state feed does not have pods ${solved.podUids.join(', ')}` };
  if (solved.kind !== 'plan') return { ok: false, code: 'failed', message: 'there was nothing to plan' };
  const { message } = solved;
  waited(deps, 'request', channel.clock.nowMs() - askedMs - message.solveMs);
  if (request.commit !== undefined && mode === 'plan') await publishPlan(channel, message);
  record(deps, message);
  return { ok: true, reply: { planId: message.id, plan: message.plan, statePosition: message.statePosition } };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
