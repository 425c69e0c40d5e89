import { connectService } from '@dovetail/adapter-nats';
import {
  type Assembled,
  runService,
  type Shell,
  systemHash,
  systemPacking,
} from '@dovetail/runtime';
import { reportMalformed } from '@dovetail/service-kit';
import { createSolver, solverMetrics } from '@dovetail/service-solver';

import { planRulesOf, solverConfigOf, solverSettings } from './settings.js';
import { workerEngine } from './worker-engine.js';

await runService(
  {
    name: 'solver',
    purpose: 'plans pending pods; any number of replicas, no rights anywhere',
    settings: solverSettings,
    metrics: solverMetrics,
  },
  assemble,
);

function assemble(shell: Shell<typeof solverSettings>): Assembled {
  const { log, metrics, clock, vitals } = shell;
  const { clusterName, replicaName } = shell.settings;
  const bus = connectService('solver', shell.settings, { log, metrics });
  const config = solverConfigOf(shell.settings);
  const engine = workerEngine({
    file: new URL('./solver-worker.js', import.meta.url),
    cluster: clusterName,
    solver: replicaName,
    rules: planRulesOf(shell.settings),
    records: config.records,
    clock,
    log,
    onMalformed: (malformed) => reportMalformed({ log, metrics }, malformed),
    vitals,
  });
  const sender = { cluster: clusterName, hash: systemHash, source: 'solver', clock };
  const channel = { bus, ...sender, ...shell.tracing };
  const service = createSolver(
    { channel, engine, log, metrics, vitals, packing: systemPacking },
    config,
  );
  const close = async (): Promise<void> => {
    await engine.close();
    await bus.close();
  };
  return { service, close };
}
