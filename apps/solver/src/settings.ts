import { present } from '@dovetail/core-invariant';
import type { PlanOptions, Sizing } from '@dovetail/core-scheduling';
import {
  assumedRequestsOf,
  defaultAssumedRequests,
  defaultSizing,
  permilleOf,
} from '@dovetail/core-scheduling/sizing';
import {
  commonSettings,
  dollars,
  durationMs,
  oneOf,
  planningSettings,
  type SettingsOf,
  traceSettings,
} from '@dovetail/runtime';
import { defaultSolverConfig } from '@dovetail/service-solver';

function assumedRequests(given: string): string {
  if (assumedRequestsOf(given) !== undefined) return given;
  throw new Error(`give cpu and memory, such as ${defaultAssumedRequests}, or none`);
}

/**
 * The most time for a proof. The launcher waits `planToldMs` (40 s) for the decision of a plan, and
 * tells it without the proof then.
 */
const boundMsMax = 30_000;

function boundTime(given: string): number {
  const ms = durationMs(given);
  if (ms <= boundMsMax) return ms;
  throw new Error('give at most 30s: the decision of a plan does not wait longer');
}

/** The launcher refuses plans older than 60 s, so a longer search would never be admitted. */
const planBudgetMsMax = 30_000;

function planBudget(given: string): number {
  const ms = durationMs(given);
  if (ms <= planBudgetMsMax) return ms;
  throw new Error('give at most 30s: the launcher refuses plans older than 60s');
}

function percent(given: string): number {
  const permille = permilleOf(given);
  if (permille !== undefined) return permille / 10;
  throw new Error('give a percentage from 0 to 10 with at most one decimal, such as 1.5');
}

/** The solver's settings, by the names under which the functions below read them. */
export const solverSettings = {
  ...commonSettings,
  ...traceSettings,
  ...planningSettings,
  preferencePolicy: {
    env: 'PREFERENCE_POLICY',
    flag: 'preference-policy',
    help: 'Respect: preferred affinities and ScheduleAnyway spreads narrow a plan as far as they can; Ignore: they do not count.',
    fallback: 'Respect' as const,
    parse: oneOf('Respect', 'Ignore'),
  },
  budgetMs: {
    env: 'PLAN_BUDGET',
    flag: 'plan-budget',
    help: 'Time for improving a plan of pending pods, at most 30s.',
    fallback: defaultSolverConfig.budgetMs,
    parse: planBudget,
  },
  requestBudgetMaxMs: {
    env: 'REQUEST_BUDGET_MAX',
    flag: 'request-budget-max',
    help: 'The most time for improving a requested plan; a request for more gets this much. At most 30s.',
    fallback: defaultSolverConfig.requestBudgetMaxMs,
    parse: planBudget,
  },
  boundMs: {
    env: 'BOUND_TIME',
    flag: 'bound-time',
    help: 'Time for proving the lower bound in the decision of a plan, after the plan is sent, at most 30s; 0: the quick bound.',
    fallback: defaultSolverConfig.boundMs,
    parse: boundTime,
  },
  planRecords: {
    env: 'PLAN_RECORDS',
    flag: 'plan-records',
    help: 'on: the input of each plan is kept for a day, so that `dovetail replay` makes the plan again; off: it is not kept.',
    fallback: 'on' as const,
    parse: oneOf('on', 'off'),
  },
  nodeCharge: {
    env: 'NODE_CHARGE',
    flag: 'node-charge',
    help: 'US dollars per hour that a node costs beside its instance; more of it buys fewer, larger nodes.',
    fallback: defaultSizing.nodeChargeMicrosPerHour / 1_000_000,
    parse: dollars,
  },
  fewerNodesWithin: {
    env: 'FEWER_NODES_WITHIN',
    flag: 'fewer-nodes-within',
    help: 'Of plans within this many percent of the least price, the one with the fewest nodes is taken.',
    fallback: defaultSizing.fewerNodesPermille / 10,
    parse: percent,
  },
  assumedRequests: {
    env: 'ASSUMED_REQUESTS',
    flag: 'assumed-requests',
    help: 'The cpu and memory that a new node counts for a pod that requests none; none counts requests alone.',
    fallback: defaultAssumedRequests,
    parse: assumedRequests,
  },
} as const;

type SolverSettings = SettingsOf<typeof solverSettings>;

/** The rules of planning that settings choose. */
export type PlanRules = Sizing &
  Pick<PlanOptions, 'preferencePolicy' | 'minValuesPolicy' | 'hostnameSpread'>;

/** The rules by these settings. */
export const planRulesOf = (given: SolverSettings): PlanRules => ({
  preferencePolicy: given.preferencePolicy,
  minValuesPolicy: given.minValuesPolicy,
  hostnameSpread: given.hostnameSpread,
  nodeChargeMicrosPerHour: Math.round(given.nodeCharge * 1_000_000),
  fewerNodesPermille: Math.round(given.fewerNodesWithin * 10),
  assumedRequests: present(
    assumedRequestsOf(given.assumedRequests),
    'settings are checked when they are read',
  ),
});

/** The times of the service by these settings. */
export const solverConfigOf = ({
  budgetMs,
  requestBudgetMaxMs,
  boundMs,
  planRecords,
}: SolverSettings): typeof defaultSolverConfig => ({
  ...defaultSolverConfig,
  budgetMs,
  requestBudgetMaxMs,
  boundMs,
  records: planRecords === 'on',
});
