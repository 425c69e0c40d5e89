import { connectNats, credentialsOf } from '@dovetail/adapter-nats';
import { commonSettings, durationMs, openShell, runMain, systemHash } from '@dovetail/runtime';
import { defaultSolverConfig, runSolver, solverMetrics, tellMalformed } from '@dovetail/service-solver';
import { workerEngine } from './worker-engine.js';

const settings = {
  ...commonSettings,
  budgetMs: { env: 'PLAN_BUDGET', flag: 'plan-budget', help: 'Time for improving a plan of pending pods.', fallback: defaultSolverConfig.budgetMs, parse: durationMs },
  requestBudgetMaxMs: { env: 'REQUEST_BUDGET_MAX', flag: 'request-budget-max', help: 'The most time for improving a plan that somebody asks for; who asks for more gets this much.', fallback: defaultSolverConfig.requestBudgetMaxMs, parse: durationMs },
} as const;

await runMain(async () => {
  const shell = openShell({ name: 'solver', purpose: 'plans pending pods; any number of replicas, no rights anywhere' }, settings, solverMetrics);
  if (shell === undefined) return;
  const { log, metrics, clock, stop } = shell;
  const { clusterName, natsUrl, natsCredentials, replicaName, budgetMs, requestBudgetMaxMs } = shell.settings;
  const bus = connectNats({ servers: natsUrl.split(','), name: `solver ${replicaName}`, log, metrics, ...credentialsOf(natsCredentials) });
  const engine = workerEngine({ file: new URL('./solver-worker.js', import.meta.url), cluster: clusterName, solver: replicaName, clock, log, onMalformed: tellMalformed({ log, metrics }) });
  await shell.serve({ ready: () => ({ bus: bus.connected(), mirror: engine.ready() }), debugState: () => engine.lastState() });
  try {
    const channel = { bus, cluster: clusterName, hash: systemHash, source: 'solver', clock };
    await runSolver({ channel, engine, log, metrics }, { ...defaultSolverConfig, budgetMs, requestBudgetMaxMs }, stop);
  } finally {
    await engine.close();
    await bus.close();
  }
});
