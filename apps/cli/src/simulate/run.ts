import {
  defaultPlanOptions,
  defaultSizing,
  finishMsPerNode,
  type Plan,
  plan,
  type PlanOptions,
  type Sizing,
} from '@dovetail/core-scheduling';

import type { Layout } from '../layout/columns.js';
import { readManifests } from '../manifests/files.js';
import { InputError } from '../manifests/input-error.js';
import { objectsOf } from '../manifests/objects.js';
import { Problems } from '../manifests/problems.js';
import { tightened } from './bound.js';
import { type Catalog, openCatalog } from './catalog.js';
import { type Explanation, explanationOf, explanationText, podNamed } from './explain.js';
import { inventoryOf } from './kinds.js';
import { addUnknownFields } from './misspelt.js';
import { type PlanningInput, planningInputOf } from './planning-input.js';
import { resultOf, simulateSchema, type SimulationResult } from './result.js';
import { tableOf } from './table.js';
import { assumptionOf, whereaboutsOf, type WhereaboutsRequest } from './whereabouts.js';

/** The form of the output: a table for people, or the whole plan as JSON or YAML. */
export type OutputFormat = 'table' | 'json' | 'yaml';

/** The request of one command line. */
export type SimulateRequest = WhereaboutsRequest & {
  readonly paths: readonly string[];
  readonly output: OutputFormat;
  /** How wide tables are. */
  readonly layout?: Layout;
  /** Time for improving the plan. */
  readonly budgetMs: number;
  /** Counted steps for tight lower bounds. With 0 the plan has only its quick bound. */
  readonly boundSteps: number;
  readonly seed: number;
  /** US dollars per hour above which the command ends with 3. */
  readonly failOverCost?: number;
  readonly explain?: string;
  /** Whether a problem of the input ends the command before anything is planned. */
  readonly strict?: boolean;
  /** How large new nodes are, where it differs from the defaults. */
  readonly sizing?: Partial<Sizing>;
  readonly hostnameSpread: 'balanced' | 'strict';
  readonly preferences: 'Respect' | 'Ignore';
  readonly minValues?: 'Strict' | 'BestEffort';
};

/** The outputs of the command. Notes and progress are for people and never mix with the result. */
export type Streams = {
  out(text: string): void;
  err(text: string): void;
  /** Replaces the last progress line; does nothing unless standard error is a terminal. */
  progress(text: string): void;
};

/**
 * Exit codes: all placed, some not placed, dearer than allowed, planned without some objects, and
 * nothing planned because of bad input. The last of these that is true counts.
 */
export const exitCodes = { placed: 0, unplaced: 2, tooDear: 3, partly: 4, badInput: 64 } as const;

/** So many steps that the time budget, not the count, ends the search. */
const stepsMax = 1_000_000;
const progressEveryMs = 250;
const progressAfterMs = 1000;

/** The options of the planner that a command line asks for. */
export const planOptionsOf = (request: SimulateRequest): PlanOptions => ({
  ...defaultPlanOptions,
  seed: request.seed,
  hostnameSpread: request.hostnameSpread,
  preferencePolicy: request.preferences,
  ...defaultSizing,
  ...request.sizing,
  ...(request.minValues === undefined ? {} : { minValuesPolicy: request.minValues }),
});

function timedPlan(
  input: PlanningInput,
  request: SimulateRequest,
  streams: Streams,
): { readonly made: Plan; readonly milliseconds: number } {
  const startMs = performance.now();
  let toldMs = startMs + progressAfterMs - progressEveryMs;
  const shouldStop = (nodes: number): boolean => {
    const nowMs = performance.now();
    if (nowMs - toldMs >= progressEveryMs) {
      toldMs = nowMs;
      streams.progress(
        `planning ${input.pods.length} pods: ${((nowMs - startMs) / 1000).toFixed(1)} s of at most ${(request.budgetMs / 1000).toFixed(1)} s for improving`,
      );
    }
    // Without a budget nothing is improved, so the first plan has no time limit.
    return request.budgetMs > 0 && nowMs - startMs + nodes * finishMsPerNode >= request.budgetMs;
  };
  const made = plan(input.snapshot, input.pods, {
    ...planOptionsOf(request),
    stepsMax: request.budgetMs > 0 ? stepsMax : 0,
    shouldStop,
  });
  streams.progress('');
  return { made, milliseconds: performance.now() - startMs };
}

/** Renders a result for machines, or by `table` for people. */
export async function rendered(
  whole: object,
  output: OutputFormat,
  table: () => string,
): Promise<string> {
  switch (output) {
    case 'json':
      return `${JSON.stringify(whole, undefined, 2)}\n`;
    case 'yaml':
      return (await import('../manifests/yaml.js')).stringify(whole, {
        aliasDuplicateObjects: false,
      });
    case 'table':
      return table();
  }
}

const renderedPlan = (
  result: SimulationResult,
  explanation: Explanation | undefined,
  { output, layout }: SimulateRequest,
): Promise<string> =>
  rendered(explanation === undefined ? result : { ...result, explanation }, output, () =>
    explanation === undefined ? tableOf(result, layout) : explanationText(explanation, layout),
  );

/**
 * A catalog file lacks AWS' labels. Adding them takes time, so only manifests that use them pay for
 * it.
 */
const usesAwsLabels = (texts: ReadonlyMap<string, string>): boolean =>
  [...texts.values()].some(
    (text) => text.includes('karpenter.k8s.aws/') || text.includes('Provisioner'),
  );

async function readInput(
  request: SimulateRequest,
  streams: Streams,
): Promise<{ readonly input: PlanningInput; readonly catalog: Catalog }> {
  const texts = readManifests(request.paths);
  const problems = new Problems();
  const sources = await objectsOf(texts, problems);
  await addUnknownFields(sources, problems);
  const inventory = await inventoryOf(sources, problems);
  const where = whereaboutsOf(request, inventory);
  const catalog = await openCatalog(where.catalog, usesAwsLabels(texts), where);
  const input = await planningInputOf(inventory, catalog);
  for (const line of problems.lines()) streams.err(`${line}\n`);
  const notes = [...assumptionOf(where, input.assumedZones), ...input.notes];
  for (const note of notes) streams.err(`note: ${note}\n`);
  return { input, catalog };
}

/** Whether a price is above the one that the command line allows, which is told. */
export function overCost(
  hourly: number,
  { failOverCost }: SimulateRequest,
  streams: Streams,
): boolean {
  if (failOverCost === undefined || hourly <= failOverCost) return false;
  streams.err(
    `the plan costs $${hourly.toFixed(4)}/h, more than --fail-over-cost ${failOverCost}\n`,
  );
  return true;
}

/**
 * Reads the manifests and does something with them, as far as they can be read. `isVain` says that
 * what was read leaves nothing to do. Returns an exit code.
 */
export async function withInput(
  request: SimulateRequest,
  streams: Streams,
  what: {
    readonly isVain: (input: PlanningInput) => boolean;
    readonly run: (input: PlanningInput) => Promise<number>;
  },
): Promise<number> {
  try {
    const { input } = await readInput(request, streams);
    const { all: problems, leftOut } = input.problems;
    if (request.strict === true && problems.length > 0) return exitCodes.badInput;
    if (leftOut === undefined) return await what.run(input);
    if (what.isVain(input)) return exitCodes.badInput;
    await what.run(input);
    return exitCodes.partly;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    streams.err(`dovetail: ${error.text}\n`);
    return exitCodes.badInput;
  }
}

/** Plans the manifests and prints the plan. Returns the exit code. */
export const runSimulate = (request: SimulateRequest, streams: Streams): Promise<number> =>
  withInput(request, streams, {
    isVain: ({ pods, snapshot }) =>
      pods.length === 0 || (snapshot.pools.length === 0 && snapshot.nodes.length === 0),
    run: (input) => simulated(input, request, streams),
  });

/** Plans, and prints the plan. Throws InputError if there is no pod to explain. */
async function simulated(
  input: PlanningInput,
  request: SimulateRequest,
  streams: Streams,
): Promise<number> {
  const explained =
    request.explain === undefined ? undefined : podNamed(request.explain, input.pods);
  if (input.pods.length > 20_000) streams.progress(`planning ${input.pods.length} pods`);
  if (input.pods.length === 0)
    streams.err('note: no pod waits, and no workload asks for one: there is nothing to plan\n');
  const planned = timedPlan(input, request, streams);
  if (request.boundSteps > 0) streams.progress('proving a lower bound of the cost');
  const made = await tightened(
    planned.made,
    { ...input, options: planOptionsOf(request) },
    { stepsMax: request.boundSteps, tell: (note) => streams.err(`note: ${note}\n`) },
  );
  streams.progress('');
  const result: SimulationResult = {
    schema: simulateSchema,
    ...resultOf(made, input, { milliseconds: planned.milliseconds }),
    problems: input.problems.all,
  };
  streams.out(
    await renderedPlan(
      result,
      explained === undefined ? undefined : explanationOf(made, input.snapshot, explained),
      request,
    ),
  );
  if (result.unschedulable.length > 0) return exitCodes.unplaced;
  return overCost(result.cost.hourly, request, streams) ? exitCodes.tooDear : exitCodes.placed;
}
