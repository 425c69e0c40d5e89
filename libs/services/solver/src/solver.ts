import { servePlanner, streamName, streamSpecs, subjects } from '@dovetail/contracts';
import type { Service, StopSignal } from '@dovetail/core-ports';
import { busOutbox, Decisions, untilDone } from '@dovetail/service-kit';

import { BatchPlanner } from './batch-planner.js';
import type { SolverConfig, SolverDeps, TellingDeps } from './config.js';
import type { EnginePort } from './engine-port.js';
import { Recorder } from './recorder.js';
import { answerGap, answerRequest, answerSearch } from './requests.js';

/**
 * A solver. It follows state and catalog into the engine, plans batches from the queue and answers
 * what-if requests. Any number run side by side. A batch is acked after the bus has taken its plan.
 * If the solver dies earlier, another solver plans the batch.
 */
export function createSolver(deps: SolverDeps, config: SolverConfig): Service {
  const { channel, engine, log, metrics } = deps;
  const outbox = busOutbox({ clock: channel.clock, log, metrics });
  const recorder = config.records ? new Recorder(deps) : notRecording;
  const telling = { ...deps, decisions: new Decisions({ channel, outbox, log }), recorder };
  const run = async (stop: StopSignal): Promise<void> => {
    await untilDone(
      { clock: channel.clock, log },
      'the streams',
      () => streamsAreThere(channel),
      stop,
    );
    await Promise.all([
      follow(deps, 'state', (event) => engine.state(event), stop),
      follow(deps, 'catalog', (event) => engine.catalog(event), stop),
      outbox.run(stop),
      new BatchPlanner(telling, config).run(stop),
      servePlanner(
        channel,
        (mode, request) => {
          const { search, gap } = request;
          const { boundMs, requestBudgetMaxMs, searchBudgetMaxMs } = config;
          const longMs = Math.min(request.budgetMs, searchBudgetMaxMs);
          if (search !== undefined) return answerSearch(deps, search, longMs);
          if (gap === true) return answerGap(deps, { budgetMs: longMs, boundMs });
          const budgetMs = Math.min(request.budgetMs, requestBudgetMaxMs);
          return answerRequest(telling, mode, { ...request, budgetMs }, { boundMs, stop });
        },
        stop,
      ),
    ]);
  };
  return {
    run,
    ready: () => ({ bus: channel.bus.connected(), mirror: engine.ready() }),
    debugState: () => engine.debugState(),
  };
}

const notRecording: TellingDeps['recorder'] = { record: () => Promise.resolve() };

/** Rejects with BusError while a stream is missing. A solver may make none. */
async function streamsAreThere({ bus, cluster }: SolverDeps['channel']): Promise<void> {
  for (const { name } of streamSpecs(cluster)) await bus.position(name);
}

async function follow(
  { channel }: SolverDeps,
  role: 'state' | 'catalog',
  apply: EnginePort['state'],
  stop: StopSignal,
): Promise<void> {
  const { bus, cluster } = channel;
  const filter = role === 'state' ? subjects.stateAll(cluster) : subjects.catalogAll(cluster);
  const followed = { stream: streamName(cluster, role), filters: [filter] };
  for await (const event of bus.follow(followed, stop)) apply(event);
}
