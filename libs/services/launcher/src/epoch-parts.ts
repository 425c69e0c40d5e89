import type { Channel } from '@dovetail/contracts';
import { poolKey } from '@dovetail/core-api';
import { ChurnGuard, type Cluster, VainPools, VainTypes } from '@dovetail/core-cluster';
import type { Epoch } from '@dovetail/core-ports';
import {
  aboutPool,
  type Decisions,
  EventRecorder,
  leftOutWords,
  type Outbox,
  outrunEpoch,
  StatusWriter,
} from '@dovetail/service-kit';

import { Checker, planOptionsOf } from './admission/checker.js';
import { parseRound } from './admission/open-round.js';
import { PromiseWriter } from './admission/promise-writer.js';
import { RoundReport } from './admission/round-report.js';
import { Rounds } from './admission/rounds.js';
import { VoidClaims } from './admission/void-claims.js';
import { VolumeWaiters } from './admission/volume-waiters.js';
import { ClusterWriter } from './cluster/cluster-writer.js';
import type { LauncherConfig } from './config.js';
import type { LauncherDeps } from './deps.js';
import { ClassCatalog } from './discovery/class-catalog.js';
import { Classes } from './discovery/classes.js';
import type { Knowledge } from './discovery/knowledge.js';
import { LearntCapacity } from './discovery/learnt-capacity.js';
import { LiveKarpenter } from './discovery/live-karpenter.js';
import { Pools } from './discovery/pools.js';
import { RegistrationHealth } from './discovery/registration-health.js';
import { UnavailableOfferings } from './discovery/unavailable.js';
import { Drifts } from './drift/drifts.js';
import { Launch } from './launch/launch.js';
import { SubnetUse } from './launch/subnet-use.js';
import { Templates } from './launch/templates.js';
import { UnpairedClaims } from './launch/unpaired-claims.js';
import { DisplacedPods } from './lifecycle/displaced-pods.js';
import { Finalization } from './lifecycle/finalization.js';
import { InstanceTagger } from './lifecycle/instance-tagger.js';
import { Lifecycle } from './lifecycle/lifecycle.js';
import { Overdue } from './lifecycle/overdue.js';
import { Placement } from './lifecycle/placement.js';
import { BusTime } from './tell/bus-time.js';
import { LauncherFeed } from './tell/launcher-feed.js';
import { Nominations } from './tell/nominations.js';
import type { UntoldPlans } from './tell/untold-plans.js';

/** The tools of an epoch: the ports, and the parts that live as long as the process. */
export type EpochDeps = LauncherDeps & {
  readonly cluster: Cluster;
  readonly knowledge: Knowledge;
  readonly channel: Channel;
  readonly outbox: Outbox;
  readonly decisions: Decisions;
  readonly untoldPlans: UntoldPlans;
  readonly epoch: Epoch;
};

/** The parts of one epoch. Each has its loop; they share the mirror, the writer and the feed. */
export type EpochParts = SharedParts & {
  readonly voidClaims: VoidClaims;
  readonly templates: Templates;
  readonly launch: Launch;
  readonly rounds: Rounds;
  readonly tagger: InstanceTagger;
  readonly lifecycle: Lifecycle;
  readonly displacedPods: DisplacedPods;
  readonly classes: Classes;
  readonly pools: Pools;
  readonly drifts: Drifts;
  readonly liveKarpenter: LiveKarpenter;
  readonly volumeWaiters: VolumeWaiters;
};

/**
 * Makes the parts of an epoch and ties them together. `inherited`: UIDs of the claims that existed
 * when it began; what a deposed launcher makes later is not among them.
 */
export function epochParts(
  deps: EpochDeps,
  config: LauncherConfig,
  inherited: ReadonlySet<string>,
): EpochParts {
  const shared = sharedParts(deps, config);
  const voidClaims = new VoidClaims({ ...shared, epoch: { number: deps.epoch.number, inherited } });
  const unpaired = new UnpairedClaims(deps.cluster, (text) => deps.hash.sha256Hex(text));
  const templates = new Templates({
    ...shared,
    unpaired,
    clusterName: config.clusterName,
    idleMs: config.discovery.templateIdleMs,
  });
  const subnetUse = new SubnetUse();
  const isVoid = voidClaims.isVoid.bind(voidClaims);
  const launch = new Launch({ ...shared, unpaired, templates, subnetUse, isVoid }, config);
  const rounds = new Rounds(
    {
      ...shared,
      classOf: (key) => shared.catalog.discovered(key)?.nodeClass,
      report: new RoundReport(shared),
      onClaims: () => launch.wake(),
    },
    config.admission,
    parseRound(deps.epoch.inherited),
  );
  return {
    ...shared,
    voidClaims,
    templates,
    launch,
    rounds,
    ...lifecycleParts(shared, config, launch),
    ...discoveryParts(shared, config, launch),
    drifts: new Drifts(shared),
    liveKarpenter: new LiveKarpenter(shared),
    volumeWaiters: new VolumeWaiters(shared),
  };
}

type SharedParts = EpochDeps & {
  readonly writer: ClusterWriter;
  readonly unavailable: UnavailableOfferings;
  readonly catalog: ClassCatalog;
  readonly events: EventRecorder;
  readonly nominations: Nominations;
  readonly feed: LauncherFeed;
  readonly busTime: BusTime;
  readonly generation: () => string;
  readonly churn: ChurnGuard;
  readonly vainTypes: VainTypes;
  readonly vainPools: VainPools;
  readonly health: RegistrationHealth;
  /** The checker on the mirror; rounds and placements share the nodes that it keeps. */
  readonly checker: Checker;
};

function sharedParts(deps: EpochDeps, config: LauncherConfig): SharedParts {
  const unavailable = new UnavailableOfferings(config.launch);
  const catalog = new ClassCatalog({
    hash: deps.hash,
    unavailable,
    learnt: new LearntCapacity(deps.cluster, config.discovery),
    nowMs: () => deps.clock.nowMs(),
    region: config.region,
    settings: config.discovery,
  });
  const events = new EventRecorder(deps, 'launcher');
  const busTime = new BusTime(() => deps.clock.nowMs());
  const feed = new LauncherFeed({
    ...deps,
    busTime,
    epoch: deps.epoch.number,
    onOutrun: outrunEpoch(deps.epoch, deps),
  });
  return {
    ...deps,
    writer: new ClusterWriter(deps),
    unavailable,
    catalog,
    events,
    nominations: new Nominations({ events, clock: deps.clock }),
    feed,
    busTime,
    generation: () => feed.nextGeneration(),
    churn: new ChurnGuard(deps.cluster),
    vainTypes: vainTypesOf(deps, events),
    vainPools: vainPoolsOf(deps, events),
    health: new RegistrationHealth(),
    checker: new Checker(deps.cluster, catalog, planOptionsOf(config)),
  };
}

/** Without this, the same broken type would be bought for the same pods again and again. */
function vainTypesOf({ cluster, clock, log }: EpochDeps, events: EventRecorder): VainTypes {
  return new VainTypes(cluster, {
    clock,
    counts: () => true,
    onLeftOut: (leftOut) => {
      const { message, fields } = leftOutWords(leftOut, 'launches', clock.nowMs());
      log.warn('type-left-out', message, fields);
      const pool = cluster.pools.one('key', poolKey(leftOut.claim.pool));
      if (pool !== undefined)
        events.record({ about: aboutPool(pool), type: 'Warning', reason: 'TypeLeftOut', message });
    },
  });
}

/** Without this, a class whose nodes never join would have type after type bought for it. */
function vainPoolsOf(
  { cluster, clock, log, metrics }: EpochDeps,
  events: EventRecorder,
): VainPools {
  return new VainPools(cluster, {
    clock,
    onHeld: ({ pool: identity, claim, types, untilMs = clock.nowMs() }) => {
      const key = poolKey(identity);
      const seconds = Math.ceil((untilMs - clock.nowMs()) / 1_000);
      const message = `no node of ${key} became usable, of ${types.join(', ')}; it gets no further one for ${String(seconds)} s, then one at a time`;
      metrics.count('dovetail_pool_holds_total', { pool: key });
      log.warn('pool-held', message, {
        pool: key,
        types: types.join(' '),
        claim: claim.name,
        seconds,
      });
      const pool = cluster.pools.one('key', key);
      if (pool !== undefined)
        events.record({ about: aboutPool(pool), type: 'Warning', reason: 'PoolHeld', message });
    },
  });
}

function lifecycleParts(
  shared: SharedParts,
  config: LauncherConfig,
  launch: Launch,
): Pick<EpochParts, 'tagger' | 'lifecycle' | 'displacedPods'> {
  const tagger = new InstanceTagger(shared);
  const { cluster, writer, clock } = shared;
  const promises = new PromiseWriter(cluster, writer, () => clock.nowMs());
  const displacedPods = new DisplacedPods({ ...shared, promises });
  const placement = new Placement({
    ...shared,
    promises,
    placement: config.placement,
    deadlineMs: config.lifecycle.placementDeadlineMs,
    openAfterMs: config.lifecycle.openAfterMs,
  });
  const overdue = new Overdue({ ...shared, promises }, config.lifecycle);
  const finalization = new Finalization({
    ...shared,
    isSettled: (claim) => launch.isSettled(claim),
    lookUp: (intentId) => launch.lookUp(intentId),
  });
  const isLaunching = launch.isBusy.bind(launch);
  const lifecycle = new Lifecycle(
    { ...shared, tagger, placement, overdue, finalization, isLaunching },
    config,
  );
  return { tagger, lifecycle, displacedPods };
}

function discoveryParts(
  shared: SharedParts,
  config: LauncherConfig,
  launch: Launch,
): Pick<EpochParts, 'classes' | 'pools'> {
  const status = new StatusWriter(shared);
  const classes = new Classes(
    {
      ...shared,
      status,
      onChange: (key) => {
        pools.classChanged(key);
        launch.wake();
      },
    },
    config,
  );
  const pools: Pools = new Pools({
    ...shared,
    status,
    consolidates: config.consolidates,
    problemOf: (uid) => classes.problemOf(uid),
    isPublished: (uid) => classes.isPublished(uid),
  });
  return { classes, pools };
}
