import { type Decision, planIdOf, readPlanRecord, type ReadRecord } from '@dovetail/contracts';
import { planAgain, sketchOf } from '@dovetail/core-scheduling';
import { systemPacking } from '@dovetail/runtime';

import type { Layout } from '../layout/columns.js';
import { InputError } from '../manifests/input-error.js';
import { nodeHash, withReader } from '../nats/bus-reader.js';
import type { BusRequest } from '../nats/connection.js';
import { readDecisions } from '../nats/read-decisions.js';
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

/** The plan that a decision is about. */
async function planOf({ name, bus }: ReplayRequest, output: Streams): Promise<string> {
  output.progress('reading the decisions…');
  const finder = new PlanFinder(name);
  const take = (decision: Decision): void => finder.take(decision);
  const unread = await readDecisions(bus, { name: 'dovetail replay', take });
  const plans = finder.plans();
  const [planId] = plans;
  if (planId !== undefined && plans.length === 1) return planId;
  // The plan of a what-if has no decision of its own.
  if (planIdPattern.test(name) && plans.length === 0) return name;
  if (unread !== undefined) throw new Ended(unread, replayExitCodes.unavailable);
  throw new Ended(finder.whyNone(), replayExitCodes.notFound);
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
