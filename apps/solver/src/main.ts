import { connectNats, credentialsOf } from '@dovetail/adapter-nats';
import { present } from '@dovetail/core-invariant';
import {
  assumedRequestsOf,
  defaultAssumedRequests,
  defaultSizing,
  permilleOf,
} from '@dovetail/core-scheduling/sizing';
import {
  type Assembled,
  commonSettings,
  dollars,
  durationMs,
  runService,
  type Shell,
  systemHash,
} from '@dovetail/runtime';
import { reportMalformed } from '@dovetail/service-kit';
import { createSolver, defaultSolverConfig, solverMetrics } from '@dovetail/service-solver';

import { workerEngine } from './worker-engine.js';

function assumedRequests(given: string): string {
  if (assumedRequestsOf(given) !== undefined) return given;
  throw new Error(`give cpu and memory, such as ${defaultAssumedRequests}, or none`);
}

function percent(given: string): number {
  const permille = permilleOf(given);
  if (permille !== undefined) return permille / 10;
  throw new Error('give a percentage from 0 to 10 with at most one decimal, such as 1.5');
}

const settings = {
  ...commonSettings,
  budgetMs: {
    env: 'PLAN_BUDGET',
    flag: 'plan-budget',
    help: 'Time for improving a plan of pending pods.',
    fallback: defaultSolverConfig.budgetMs,
    parse: durationMs,
  },
  requestBudgetMaxMs: {
    env: 'REQUEST_BUDGET_MAX',
    flag: 'request-budget-max',
    help: 'The most time for improving a requested plan; a request for more gets this much.',
    fallback: defaultSolverConfig.requestBudgetMaxMs,
    parse: durationMs,
  },
  boundMs: {
    env: 'BOUND_TIME',
    flag: 'bound-time',
    help: 'Time for proving the lower bound in the decision of a plan, after the plan is sent; 0: the quick bound.',
    fallback: defaultSolverConfig.boundMs,
    parse: durationMs,
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

await runService(
  {
    name: 'solver',
    purpose: 'plans pending pods; any number of replicas, no rights anywhere',
    settings,
    metrics: solverMetrics,
  },
  assemble,
);

function assemble(shell: Shell<typeof settings>): Assembled {
  const { log, metrics, clock, vitals } = shell;
  const { clusterName, natsUrl, natsCredentials, replicaName } = shell.settings;
  const { budgetMs, requestBudgetMaxMs, boundMs } = shell.settings;
  const bus = connectNats({
    servers: natsUrl.split(','),
    replicas: shell.settings.natsReplicas,
    name: `solver ${replicaName}`,
    log,
    metrics,
    ...credentialsOf(natsCredentials),
  });
  const engine = workerEngine({
    file: new URL('./solver-worker.js', import.meta.url),
    cluster: clusterName,
    solver: replicaName,
    sizing: {
      nodeChargeMicrosPerHour: Math.round(shell.settings.nodeCharge * 1_000_000),
      fewerNodesPermille: Math.round(shell.settings.fewerNodesWithin * 10),
      assumedRequests: present(
        assumedRequestsOf(shell.settings.assumedRequests),
        'settings are checked when they are read',
      ),
    },
    clock,
    log,
    onMalformed: (malformed) => reportMalformed({ log, metrics }, malformed),
    vitals,
  });
  const channel = { bus, cluster: clusterName, hash: systemHash, source: 'solver', clock };
  const service = createSolver(
    { channel, engine, log, metrics },
    { ...defaultSolverConfig, budgetMs, requestBudgetMaxMs, boundMs },
  );
  const close = async (): Promise<void> => {
    await engine.close();
    await bus.close();
  };
  return { service, close };
}
