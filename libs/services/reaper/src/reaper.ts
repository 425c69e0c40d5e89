import { followCatalog, followState, parseTraceparent } from '@dovetail/contracts';
import { annotations, type NodeClaim } from '@dovetail/core-api';
import { VainTypes } from '@dovetail/core-cluster';
import { explainNode, isBoughtByCommand } from '@dovetail/core-disruption';
import {
  type DebugState,
  neverStopping,
  type Service,
  Stopper,
  type StopSignal,
} from '@dovetail/core-ports';
import {
  busOutbox,
  Decisions,
  EventRecorder,
  leftOutWords,
  type Outbox,
} from '@dovetail/service-kit';

import { News } from './cluster/news.js';
import { ReaperCluster } from './cluster/reaper-cluster.js';
import type { ReaperConfig } from './config.js';
import type { ReaperContext } from './context.js';
import { channelOf, type ReaperDeps, source } from './deps.js';
import { inOffice } from './office.js';
import { LiveAttachments } from './outside/attachments.js';
import { ClockCheck } from './outside/clock-check.js';
import { Instances } from './outside/instances.js';
import { planRequestsOf } from './outside/plan-requests.js';
import { watchCluster } from './outside/watches.js';
import { ReaperEpoch } from './reaper-epoch.js';

function contextOf(deps: ReaperDeps, config: ReaperConfig, decisionsOutbox: Outbox): ReaperContext {
  const cluster = new ReaperCluster(
    () => deps.clock.nowMs(),
    config.legacyNodeRepair ? 'legacy' : 'replace',
  );
  return {
    deps,
    config,
    cluster,
    news: new News(cluster),
    events: new EventRecorder(deps, source),
    decisions: new Decisions({
      channel: channelOf(deps, config),
      outbox: decisionsOutbox,
      log: deps.log,
    }),
    outbox: busOutbox(deps),
    instances: new Instances(deps, config.termination),
    attachments: new LiveAttachments(deps, config.termination.listGatherMs),
    requests: planRequestsOf(deps, { config, cluster }, neverStopping),
    vainTypes: vainTypesOf(cluster, deps),
    clockCheck: new ClockCheck(deps, config.disruption.clockDifferenceMsMax),
  };
}

/** Without this, a broken type would be bought for each under-used node of a pool in turn. */
function vainTypesOf(cluster: ReaperCluster, { clock, log }: ReaperDeps): VainTypes {
  const vainTypes = new VainTypes(cluster, {
    clock,
    counts: isBoughtByCommand,
    onLeftOut: (leftOut) => {
      const { message, fields } = leftOutWords(leftOut, 'replacements', clock.nowMs());
      log.warn('type-left-out', message, fields);
    },
  });
  cluster.subscribe((change) => vainTypes.heard(change));
  return vainTypes;
}

/** Keeps the prices of offerings, so that a running node is judged by what it costs now. */
async function followPrices(
  { deps, config, cluster }: ReaperContext,
  stop: StopSignal,
): Promise<void> {
  for await (const event of followCatalog(channelOf(deps, config), stop))
    cluster.prices.apply(event);
}

/** Hears which plans the launcher refuses, so that no node waits for one in vain. */
async function followVerdicts(
  { deps, config, cluster }: ReaperContext,
  stop: StopSignal,
): Promise<void> {
  for await (const event of followState(channelOf(deps, config), stop, { kinds: ['verdict'] }))
    cluster.refusedPlans.apply(event);
}

/** Explains a node by its name or its claim's. Only the leader knows what solvers said of it. */
function explain(
  { cluster, config, deps }: ReaperContext,
  name: string,
  knownOf: (claim: NodeClaim) => ReturnType<ReaperEpoch['knownOf']> | undefined,
): DebugState | undefined {
  const node = cluster.nodes.one('name', name);
  const claim =
    cluster.claims.one('name', name) ?? (node === undefined ? node : cluster.claimOfNode(node));
  if (claim === undefined) return undefined;
  const launched = parseTraceparent(claim.annotations[annotations.traceparent]);
  const explained = explainNode(cluster.viewOf(claim), {
    views: cluster.views(),
    budgetsOf: cluster.budgetsOf,
    podOf: (uid) => cluster.pods.get(uid),
    nowMs: deps.clock.nowMs(),
    consolidates: config.consolidation !== 'none',
    ...(config.nodeRepair ? { health: cluster.health() } : {}),
    ...knownOf(claim),
  });
  return { ...explained, ...(launched === undefined ? {} : { traceId: launched.traceId }) };
}

/**
 * Makes a reaper: several may run, one of them leads. It is ready once every list is complete and
 * the bus takes its decisions. Without the bus it still works, on Kubernetes and EC2 alone.
 */
export function createReaper(deps: ReaperDeps, config: ReaperConfig): Service {
  const told = busOutbox(deps);
  const context = contextOf(deps, config, told);
  const { cluster, outbox, events } = context;
  let current: ReaperEpoch | undefined;
  return {
    run: async (outer) => {
      // One listener on the caller's signal, however many loops there are.
      const stop = new Stopper(outer);
      const leading = deps.leadership.run(stop, async (epoch) => {
        current = new ReaperEpoch(inOffice(context, epoch.stop));
        await current.run(epoch.stop);
        current = undefined;
      });
      await Promise.all([
        watchCluster(deps, cluster, stop),
        followPrices(context, stop),
        followVerdicts(context, stop),
        leading,
        events.run(stop),
        outbox.run(stop),
        told.run(stop),
      ]);
    },
    ready: () => ({ bus: deps.bus.connected(), watches: cluster.synced() }),
    debugState: () => ({
      leading: deps.leadership.held(),
      epoch: deps.leadership.epoch(),
      unsynced: cluster.unsynced(),
      claims: cluster.claims.size,
      nodes: cluster.nodes.size,
      pods: cluster.pods.size,
      decisionsWaiting: told.waiting(),
      ...current?.debugState(),
    }),
    explain: (name) => explain(context, name, (claim) => current?.knownOf(claim)),
  };
}
