import { connectNats, credentialsOf } from '@dovetail/adapter-nats';
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
    fallback: 0,
    parse: dollars,
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
    nodeChargeMicrosPerHour: Math.round(shell.settings.nodeCharge * 1_000_000),
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
