import { planIdOf, readPlanRecord, type ReadRecord } from '@dovetail/contracts';
import { planAgain, sketchOf } from '@dovetail/core-scheduling';
import { systemPacking } from '@dovetail/runtime';

import type { Layout } from '../layout/columns.js';
import { InputError } from '../manifests/input-error.js';
import { nodeHash, withReader } from '../nats/bus-reader.js';
import type { BusRequest } from '../nats/connection.js';
import { readDecisions } from '../nats/read-decisions.js';
import { Unreadable } from '../nats/unreadable.js';
import type { Streams } from '../simulate/run.js';
import { changed, IdleChange } from './changes.js';
import { type ChangeRequest, changesOf } from './given.js';
import { type Outcome, outcomeOf } from './outcome.js';
import { outcomeJson, outcomeText } from './outcome-text.js';
import { PlanFinder } from './plan-finder.js';

/** The request of one command line. */
export type ReplayRequest = ChangeRequest & {
  /** The id of a decision or of a plan, or the beginning of one. */
  readonly name: string;
  readonly bus: BusRequest;
  readonly output: 'table' | 'json';
  readonly layout: Layout;
  /** The changes as they were written. */
  readonly written: readonly string[];
};

/**
 * Exit codes: the same, or made with changes; another plan without changes; bad input; nothing is
 * kept of it (EX_NOINPUT); the bus cannot be read.
 */
const replayExitCodes = {
  done: 0,
  differs: 2,
  badInput: 64,
  notFound: 66,
  unavailable: 69,
} as const;

/** An end of the command that is no result: the text for people, and the exit code. */
class Ended extends Error {
  override readonly name = 'Ended';
  readonly exitCode: number;
  constructor(text: string, exitCode: number) {
    super(text);
    this.exitCode = exitCode;
  }
}

/** Makes a plan again, and prints how it compares. Resolves to the exit code. */
export async function runReplay(request: ReplayRequest, output: Streams): Promise<number> {
  try {
    const changes = await changesOf(request);
    const planId = await planOf(request, output);
    const { record, recorded } = await recordOf(request, planId, output);
    output.progress('planning…');
    const input = changed(recorded.input, changes);
    const plan = planAgain(input);
    const same = planIdOf(nodeHash, { ...record, plan }) === record.id;
    const about = { planId, same, changes: request.written };
    const outcome = outcomeOf({ recorded: recorded.made, now: sketchOf(plan) }, about);
    output.progress('');
    output.out(shown(outcome, request));
    return same || request.written.length > 0 ? replayExitCodes.done : replayExitCodes.differs;
  } catch (error) {
    output.progress('');
    return ended(error, output);
  }
}

const shown = (outcome: Outcome, { output, layout }: ReplayRequest): string =>
  output === 'json' ? outcomeJson(outcome) : outcomeText(outcome, layout);

function ended(error: unknown, output: Streams): number {
  if (error instanceof Ended) {
    output.err(`${error.message}\n`);
    return error.exitCode;
  }
  if (!(error instanceof InputError || error instanceof IdleChange)) throw error;
  output.err(`dovetail: ${error instanceof InputError ? error.text : error.message}\n`);
  return replayExitCodes.badInput;
}

const planIdPattern = /^[0-9a-f]{32}$/;

/**
 * The plan that a decision is about. Decisions that could not be read are told before the record is
 * tried: the plan may be that of another one.
 */
async function planOf({ name, bus }: ReplayRequest, output: Streams): Promise<string> {
  output.progress('reading the decisions…');
  const finder = new PlanFinder(name);
  const unreadable = new Unreadable();
  let read = 0;
  const unread = await readDecisions(bus, {
    name: 'dovetail replay',
    take: (decision) => {
      read += 1;
      finder.take(decision);
    },
    unreadable: (message) => unreadable.take(message),
  });
  output.progress('');
  output.err(unreadable.line());
  const planId = wholePlan(finder, name);
  // A bus that gives no decision at all has no record either.
  if (unread !== undefined && (planId === undefined || read === 0))
    throw new Ended(unread, replayExitCodes.unavailable);
  if (planId === undefined) throw new Ended(finder.whyNone(), replayExitCodes.notFound);
  if (unread !== undefined) output.err(`${unread}\n`);
  return planId;
}

/** The one plan of the decisions that were found. The plan of a what-if has none of its own. */
function wholePlan(finder: PlanFinder, name: string): string | undefined {
  const plans = finder.plans();
  if (plans.length === 1) return plans[0];
  return plans.length === 0 && planIdPattern.test(name) ? name : undefined;
}

async function recordOf(
  { bus }: ReplayRequest,
  planId: string,
  output: Streams,
): Promise<ReadRecord> {
  output.progress('reading the record…');
  const read = await withReader(bus, 'dovetail replay', (reader) =>
    readPlanRecord(reader, planId, systemPacking),
  );
  if (!read.ok) throw new Ended(read.why, replayExitCodes.unavailable);
  if (read.value === undefined)
    throw new Ended(
      `no record of plan ${planId} is kept: records stay for a day, and solvers write them unless PLAN_RECORDS is off`,
      replayExitCodes.notFound,
    );
  if (!read.value.ok)
    throw new Ended(
      `the record of plan ${planId} cannot be read: ${read.value.field}: ${read.value.reason}`,
      replayExitCodes.notFound,
    );
  return read.value.value;
}
