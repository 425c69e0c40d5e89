import { followCatalog, publishUnavailable, type Channel } from '@dovetail/contracts';
import { annotations } from '@dovetail/core-api';
import { kubeResources, type StopSignal, type Term } from '@dovetail/core-ports';
import { checkerOf, planOptionsOf } from './admission/checking.js';
import { parseRound } from './admission/fence.js';
import { admissionText } from './admission/number.js';
import { admitPlans } from './admission/plans.js';
import { Rounds } from './admission/rounds.js';
import { Telling } from './admission/telling.js';
import { Voids } from './admission/voids.js';
import type { LauncherConfig } from './config.js';
import type { LauncherDeps } from './deps.js';
import { Catalog } from './discovery/catalog.js';
import { Classes } from './discovery/classes.js';
import type { Knowledge } from './discovery/knowledge.js';
import { Pools } from './discovery/pools.js';
import { Finalizing } from './finalize/finalizing.js';
import { isUnpaired, parseIntent } from './launch/intent.js';
import { Launching } from './launch/launching.js';
import { Templates } from './launch/templates.js';
import { UnavailableOfferings } from './launch/unavailable.js';
import { Lifecycle } from './lifecycle/lifecycle.js';
import { Placing } from './lifecycle/placing.js';
import { Tagging } from './lifecycle/tagging.js';
import { tellTransitions } from './lifecycle/transitions.js';
import { Stopper } from '@dovetail/core-ports';
import { Decisions } from './tell/decisions.js';
import { KubeEvents } from './tell/kube-events.js';
import { Nominations } from './tell/nominations.js';
import { promisesToTell } from './tell/promises.js';
import { StateTeller } from './tell/state-teller.js';
import { claimFrom } from './world/parsing.js';
import { StatusWriter } from './world/status-writer.js';
import type { World } from './world/world.js';
import { Writer } from './world/writer.js';

export type LeadingDeps = LauncherDeps & { readonly world: World; readonly knowledge: Knowledge; readonly channel: Channel; readonly term: Term };

/** One term in office: everything that writes runs here and ends with it. */
export class Leading {
  readonly #deps: LeadingDeps;
  readonly #config: LauncherConfig;
  readonly #writer: Writer;
  readonly #unavailable: UnavailableOfferings;
  readonly #catalog: Catalog;
  readonly #events: KubeEvents;
  readonly #decisions: Decisions;
  readonly #teller: StateTeller;
  #launching: Launching | undefined;
  #rounds: Rounds | undefined;

  constructor(deps: LeadingDeps, config: LauncherConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#writer = new Writer(deps.kube, deps.world);
    this.#unavailable = new UnavailableOfferings(config.launch);
    this.#catalog = new Catalog({ hash: deps.hash, unavailable: this.#unavailable, nowMs: () => deps.clock.nowMs(), region: config.region, settings: config.discovery });
    this.#events = new KubeEvents(deps);
    this.#decisions = new Decisions(deps.channel, deps.log);
    this.#teller = new StateTeller({ channel: deps.channel, log: deps.log, epoch: deps.term.epoch, promises: () => promisesToTell(deps.world, deps.clock.nowMs()) });
  }

  debugState(): Readonly<Record<string, unknown>> {
    return {
      admission: this.#rounds === undefined ? null : admissionText(this.#rounds.head), launchesInWork: this.#launching?.inWork() ?? 0,
      catalog: this.#catalog.revision, avoided: this.#unavailable.avoided(this.#deps.clock.nowMs()),
      promises: promisesToTell(this.#deps.world, this.#deps.clock.nowMs()),
    };
  }

  /** Works until the term ends. Rejects with LeadershipLost when the fence says that another leads. */
  async run(): Promise<void> {
    const { term, clock, world, log } = this.#deps;
    while (!term.stop.aborted && !world.synced()) {
      log.info('waiting-for-watches', 'leading begins when everything has been read once', { unsynced: world.unsynced() });
      await clock.sleep(250, term.stop);
    }
    if (term.stop.aborted) return;
    const inherited = await this.#inheritedClaims();
    await this.#teller.prepare();
    const stop = new Stopper(term.stop);
    const unsubscribe = this.#wakeTeller();
    const loops = this.#loops(stop, inherited).map(async (loop) => {
      try { await loop; } finally { stop.abort(); }
    });
    const ended = await Promise.allSettled(loops);
    unsubscribe();
    const failed = ended.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** The claims that exist as this term begins, read after the Lease was taken: what a deposed leader makes later is not among them. */
  async #inheritedClaims(): Promise<ReadonlySet<string>> {
    const { kube, world, clock, log, term } = this.#deps;
    while (!term.stop.aborted) {
      try {
        const objects = await kube.list(kubeResources.nodeClaims);
        return new Set(objects.flatMap((object) => {
          try { world.set('claim', claimFrom(object)); } catch { /* told of by the watch */ }
          return object.metadata.uid ?? [];
        }));
      } catch (error) {
        log.warn('claims-not-listed', 'the claims could not be listed, it is tried again', { error: String(error) });
        await clock.sleep(500, term.stop);
      }
    }
    return new Set();
  }

  #loops(stop: StopSignal, inherited: ReadonlySet<string>): readonly Promise<void>[] {
    const deps = this.#deps;
    const { world, channel, term } = deps;
    const shared = {
      ...deps, writer: this.#writer, catalog: this.#catalog, unavailable: this.#unavailable, decisions: this.#decisions, events: this.#events,
      nominations: new Nominations({ events: this.#events, clock: deps.clock }),
      generation: () => this.#teller.generation(), checker: () => checkerOf(world, this.#catalog, planOptionsOf(this.#config)),
    };
    const voids = new Voids({ ...shared, term: { epoch: term.epoch, inherited } });
    const templates = this.#templates();
    const launching = new Launching({ ...shared, templates, isVoid: (claim) => voids.isVoid(claim) }, this.#config);
    const rounds = new Rounds({ ...shared, teller: this.#teller, telling: new Telling(shared), onClaims: () => launching.wake() }, this.#config.admission, parseRound(term.inherited));
    [this.#launching, this.#rounds] = [launching, rounds];
    const tagging = new Tagging(shared);
    const lifecycle = new Lifecycle({
      ...shared, tagging, isLaunching: (claim) => launching.isBusy(claim), placing: new Placing({ ...shared, placement: this.#config.placement, deadlineMs: this.#config.lifecycle.placementDeadlineMs, openAfterMs: this.#config.lifecycle.openAfterMs }),
      finalizing: new Finalizing({ ...shared, isSettled: (claim) => launching.isSettled(claim), lookUp: (id) => launching.lookUp(id) }),
    }, this.#config);
    const status = new StatusWriter(deps.kube, deps.clock);
    const classes = new Classes({ ...shared, status, onChange: (key) => { pools.classChanged(key); launching.wake(); } }, this.#config);
    const pools: Pools = new Pools({ ...shared, status, problemOf: (uid) => classes.problemOf(uid), isTold: (uid) => classes.isTold(uid) });
    const endTransitions = tellTransitions(world, this.#events);
    stop.addEventListener('abort', endTransitions, { once: true });
    return [
      this.#teller.tellHead(rounds.head).then(() => admitPlans({ ...deps, reader: channel, rounds, plansPerRoundMax: this.#config.admission.plansPerRoundMax }, stop)),
      this.#teller.run(stop), this.#events.run(stop), voids.run(stop), launching.run(stop), lifecycle.run(stop), tagging.run(stop), classes.run(stop), pools.run(stop),
      templates.run(stop), this.#followCatalog(classes, stop),
    ];
  }

  #templates(): Templates {
    const { world, hash, cloud, clock, log } = this.#deps;
    return new Templates({
      cloud, clock, log, clusterName: this.#config.clusterName, idleMs: this.#config.discovery.templateIdleMs,
      classNames: () => new Set([...world.nodeClasses.values()].map((row) => row.ref.name)),
      inUse: () => new Set([...world.claims.values()].filter(isUnpaired).flatMap((claim) =>
        parseIntent(claim.annotations[annotations.launchIntent], (text) => hash.sha256Hex(text))?.request.configs.map((config) => config.launchTemplateName) ?? [])),
    });
  }

  /** What predecessors marked as out of capacity is taken over; and when the stream is lost, what it should hold is told again. */
  async #followCatalog(classes: Classes, stop: StopSignal): Promise<void> {
    for await (const event of followCatalog(this.#deps.channel, stop)) {
      if (event.kind === 'unavailable') this.#unavailable.learn(event.offering);
      if (event.kind === 'malformed') {
        const { subject, field, reason } = event;
        this.#deps.log.warn('message-malformed', `${subject}: ${field}: ${reason}`, { subject, field });
        this.#deps.metrics.count('dovetail_malformed_messages_total', { message: 'catalog', field });
      }
      if (event.kind !== 'reset') continue;
      classes.republish();
      for (const marked of this.#unavailable.avoided(this.#deps.clock.nowMs())) {
        await publishUnavailable(this.#deps.channel, marked, { generation: this.#teller.generation() }).catch((error: unknown) =>
          this.#deps.log.warn('unavailable-not-told', 'an offering without capacity could not be published again', { error: String(error) }));
      }
    }
  }

  #wakeTeller(): () => void {
    const { world } = this.#deps;
    return world.subscribe((kind, uid) => {
      if (kind === 'claim' || kind === 'node' || (kind === 'pod' && world.holdersOf(uid).length > 0)) this.#teller.wake();
    });
  }
}


