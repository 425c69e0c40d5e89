import { annotations } from '@dovetail/core-api';
import { isTaintedDisrupted, parseRetirement } from '@dovetail/core-disruption';
import type { StopSignal } from '@dovetail/core-ports';
import { Collector } from './collect/collector.js';
import type { ReaperConfig } from './config.js';
import type { Reaping } from './context.js';
import { followPoolDeletion } from './decide/orphans.js';
import { Passes } from './decide/passes.js';
import type { ReaperDeps } from './deps.js';
import { Decisions } from './effects/decisions.js';
import { Events } from './effects/events.js';
import { Instances } from './effects/instances.js';
import { abandonRetirement } from './effects/node-edits.js';
import { followNodeDeletion, Terminator } from './end/terminator.js';
import { ClusterIdentity } from './identity.js';
import { Interruptions } from './interrupt/interruptions.js';
import { Looks, type Again } from './loop/looks.js';
import { Stopper } from '@dovetail/core-ports';
import { Retirer } from './retire/retirer.js';
import { keepWorld } from './world/watches.js';
import { World } from './world/world.js';

/** What the reaper believes now, for /debug/state. */
export type ReaperState = Readonly<Record<string, unknown>>;

/** The service: one process, of which one in the cluster leads. */
export type Reaper = {
  /** Keeps the world up to date, and works while it leads. Resolves when `stop` is aborted and everything has ended. */
  run(stop: StopSignal): Promise<void>;
  /** Named conditions; ready when all are true. */
  ready(): Readonly<Record<string, boolean>>;
  debugState(): ReaperState;
};

const retryMs = 200;
const retryMaxMs = 10_000;

/** Makes a reaper. Nothing happens before `run`. */
export function createReaper(deps: ReaperDeps, config: ReaperConfig): Reaper {
  const world = new World(() => deps.clock.nowMs());
  const reaping: Reaping = { deps, config, world, events: new Events(deps), decisions: new Decisions(deps, config), instances: new Instances(deps, config) };
  let tour: Tour | undefined;
  return {
    run: async (outer) => {
      // One listener on the caller's signal, however many loops there are.
      const stop = new Stopper(outer);
      const lead = deps.leadership.run(stop, async (term) => {
        tour = new Tour(reaping);
        await tour.run(term.stop);
        tour = undefined;
      });
      await Promise.all([keepWorld(deps, world, stop), lead, reaping.events.run(stop), reaping.decisions.run(stop)]);
    },
    ready: () => ({ watches: world.synced() }),
    debugState: () => ({
      leads: deps.leadership.held(), unsynced: world.unsynced(), busConnected: deps.bus.connected(),
      claims: world.claims.size, nodes: world.nodes.size, pods: world.pods.size, decisionsWaiting: reaping.decisions.waiting(),
      ...tour?.debugState(),
    }),
  };
}

/** Runs a reaper until stopped. */
export const runReaper = (deps: ReaperDeps, config: ReaperConfig, stop: StopSignal): Promise<void> => createReaper(deps, config).run(stop);

/** One time in office: every loop, and what they remember of each other. */
class Tour {
  readonly #reaping: Reaping;
  readonly #identity: ClusterIdentity;
  readonly #terminator: Terminator;
  readonly #retirer: Retirer;
  readonly #passes: Passes;
  readonly #collector: Collector;
  readonly #looks: Looks;

  constructor(reaping: Reaping) {
    const { deps, config } = reaping;
    this.#reaping = reaping;
    this.#identity = new ClusterIdentity(deps);
    this.#terminator = new Terminator(reaping);
    this.#retirer = new Retirer(reaping);
    this.#passes = new Passes(reaping, this.#retirer);
    this.#collector = new Collector(reaping, this.#identity);
    this.#looks = new Looks({
      clock: deps.clock, concurrency: config.termination.concurrency, retryMs, retryMaxMs,
      onError: (claim, error, failures) => {
        deps.metrics.count('dovetail_looks_failed_total');
        deps.log.warn('look-failed', `looking after ${claim} failed: ${error instanceof Error ? error.message : String(error)}; trying again`, { claim, failures });
      },
    });
  }

  async run(termStop: StopSignal): Promise<void> {
    const { deps, world } = this.#reaping;
    const stop = new Stopper(termStop);
    const addAll = (): void => { for (const claim of world.claims.values()) this.#looks.add(claim.name); };
    let complete = world.synced();
    const unsubscribe = world.subscribe((_kind, claims) => {
      for (const claim of claims) this.#looks.add(claim);
      // What a look could not tell before every list was complete, it can tell now.
      if (!complete && world.synced()) addAll();
      complete = world.synced();
      this.#passes.wake();
    });
    addAll();
    const interruptions = deps.queue === undefined ? Promise.resolve() : new Interruptions(this.#reaping, this.#retirer, this.#identity).run(deps.queue, stop);
    try {
      await Promise.all([this.#looks.run((name) => this.#look(name, stop), stop), this.#passes.run(stop), this.#collector.run(stop), interruptions]);
    } finally {
      unsubscribe();
      stop.abort();
    }
  }

  /** Whatever a claim needs: to be ended, to have its retirement carried on, or to follow its node or pool. */
  async #look(name: string, stop: StopSignal): Promise<Again> {
    const { world } = this.#reaping;
    const claim = world.claims.one('name', name);
    if (claim === undefined || stop.aborted) return undefined;
    if (claim.deletionMs !== undefined) return this.#terminator.look(name, stop);
    const node = world.nodeOfClaim(claim);
    if (node?.deletionMs !== undefined) {
      await followNodeDeletion(this.#reaping, claim, node);
      return undefined;
    }
    if (await followPoolDeletion(this.#reaping, claim)) return undefined;
    if (node === undefined || !world.synced()) return undefined;
    if (node.annotations[annotations.retirement] !== undefined) return this.#retirer.look(name);
    // We never taint without saying why: this taint was left over by somebody else, and would keep the node useless for ever.
    if (isTaintedDisrupted(node)) await abandonRetirement(this.#reaping.deps.kube, node);
    return undefined;
  }

  debugState(): ReaperState {
    const pass = this.#passes.last();
    const collected = this.#collector.last();
    return {
      looks: this.#looks.size(),
      retiring: [...this.#reaping.world.nodes.values()].flatMap((node) => {
        const retirement = parseRetirement(node.annotations[annotations.retirement]);
        return retirement === undefined ? [] : [{ node: node.name, ...retirement }];
      }),
      ending: [...this.#reaping.world.claims.values()].filter((claim) => claim.deletionMs !== undefined).map(({ name }) => name).sort(),
      lastPass: pass === undefined ? undefined : {
        retire: pass.retire.map(({ view, cause }) => ({ claim: view.claim.name, cause })), nextDueMs: pass.nextDueMs, allowed: pass.allowed,
        blocked: pass.blocked.slice(0, 50).map(({ view, notes }) => ({ claim: view.claim.name, notes })),
      },
      lastCollection: collected === undefined ? undefined : {
        atMs: collected.atMs, instances: collected.collection.terminate.map(({ id }) => id), claims: collected.collection.deleteClaims.map(({ name }) => name), brakes: collected.collection.brakes,
      },
    };
  }
}
