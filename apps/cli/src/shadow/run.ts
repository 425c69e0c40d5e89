import { type NodeClaim, nodeClaimOf } from '@dovetail/core-api';
import { type Round, Rounds } from '@dovetail/core-disruption';
import {
  type Clock,
  KubeError,
  type KubeWatches,
  messageOf,
  Stopper,
  type StopSignal,
} from '@dovetail/core-ports';

import { InputError } from '../manifests/input-error.js';
import { type Catalog, openCatalog } from '../simulate/catalog.js';
import { ClusterState } from './cluster-state.js';
import { judge, type Judged, launchedOf } from './judge.js';
import { Outage } from './outage.js';
import { pricesAt } from './prices.js';
import { shadowExitCodes, type ShadowRequest } from './request.js';
import {
  added,
  backText,
  jsonLine,
  type Left,
  noTotals,
  textOf,
  totalsText,
  withLeft,
  withoutPodsText,
} from './rows.js';

/** Where the command writes: results to `out`, messages for people to `err`. */
type Output = { out(text: string): void; err(text: string): void };

/** The outside of the command. */
type ShadowWorld = { readonly kube: KubeWatches; readonly clock: Clock };

const lookMs = 250;
/** Karpenter makes the claims of one pass in parallel, within moments. */
const gatherMs = 1_500;
/** A claim that has no instance by then is left out of the comparison, as if it was not bought. */
const launchMs = 300_000;
/** Karpenter looks up prices twice a day. */
const pricesMs = 600_000;

/** Compares rounds until `stop`, and prints each as soon as its claims are launched. */
export async function runShadow(
  request: ShadowRequest,
  world: ShadowWorld,
  output: Output,
  stop: StopSignal,
): Promise<number> {
  const end = new Stopper(stop);
  try {
    const shadow = new Shadow(request, world, output);
    await shadow.readCatalog();
    if (request.forMs !== undefined)
      void world.clock.sleep(request.forMs, end).then(() => end.abort());
    await shadow.run(end);
    return shadowExitCodes.done;
  } catch (error) {
    if (error instanceof InputError) {
      output.err(`dovetail: ${error.text}\n`);
      return shadowExitCodes.badInput;
    }
    if (!(error instanceof KubeError)) throw error;
    output.err(`the cluster cannot be read: ${messageOf(error)}\n`);
    return shadowExitCodes.unavailable;
  } finally {
    end.abort();
  }
}

class Shadow {
  readonly #request: ShadowRequest;
  readonly #world: ShadowWorld;
  readonly #output: Output;
  readonly #outage: Outage;
  readonly #state: ClusterState;
  readonly #rounds = new Rounds({ gatherMs });
  readonly #waiting = new Set<Judged>();
  #catalog: Catalog | undefined;
  #pricedMs = 0;
  #totals = noTotals;

  constructor(request: ShadowRequest, world: ShadowWorld, output: Output) {
    this.#request = request;
    this.#world = world;
    this.#output = output;
    this.#outage = new Outage({
      nowMs: () => world.clock.nowMs(),
      say: (text) => output.err(text),
    });
    this.#state = new ClusterState((resource, reach) => this.#outage.take(resource, reach));
  }

  /** Reads the catalog, with Karpenter's prices where they are asked for. */
  async readCatalog(): Promise<void> {
    const { catalog, prices } = this.#request;
    const quotes = prices === undefined ? [] : await pricesAt(prices);
    this.#catalog = await openCatalog(catalog, true, { newer: quotes });
    this.#pricedMs = this.#world.clock.nowMs();
  }

  async run(stop: StopSignal): Promise<void> {
    const { kube, clock } = this.#world;
    await Promise.all([this.#state.run(kube, stop), this.#loop(clock, stop)]);
    this.#output.err(totalsText(this.#totals));
  }

  async #loop(clock: Clock, stop: StopSignal): Promise<void> {
    let told = false;
    while (!stop.aborted) {
      await clock.sleep(lookMs, stop);
      if (stop.aborted || !this.#state.synced() || this.#outage.isOn()) continue;
      this.#goOn();
      if (!told) this.#output.err('watching; each round of launches and ends is compared\n');
      told = true;
      await this.#look();
    }
  }

  #claims(): readonly NodeClaim[] {
    return this.#state.of('NodeClaim').flatMap((object) => {
      const read = nodeClaimOf(object);
      return read.ok ? [read.value] : [];
    });
  }

  /**
   * Goes on after an outage. Its rounds are left out: the pods that they were for have nodes by
   * now, or were not seen yet, and without them Dovetail would seem to need no node.
   */
  #goOn(): void {
    const outage = this.#outage.end();
    if (outage === undefined) return;
    const skipped = this.#rounds.skip(this.#claims(), this.#world.clock.nowMs());
    const rounds = [...this.#waiting].map(({ seen }) => seen.round);
    this.#waiting.clear();
    const left = leftOf(skipped === undefined ? rounds : [...rounds, skipped]);
    this.#totals = withLeft(this.#totals, left);
    if (outage.isTold || left.launches + left.ends > 0)
      this.#output.err(backText(outage.lastedMs, left));
  }

  async #look(): Promise<void> {
    const round = this.#rounds.look(this.#claims(), this.#world.clock.nowMs());
    if (round !== undefined) await this.#judge(round);
    for (const judged of this.#waiting) this.#tell(judged);
  }

  async #judge(round: Round): Promise<void> {
    const { prices } = this.#request;
    if (prices !== undefined && this.#world.clock.nowMs() - this.#pricedMs >= pricesMs)
      await this.readCatalog().catch((error: unknown) => this.#output.err(`${messageOf(error)}\n`));
    const objects = this.#state.now();
    const made = round.launched.flatMap((uid) => {
      const atMs = Date.parse(objects.get('NodeClaim')?.get(uid)?.metadata.creationTimestamp ?? '');
      return Number.isNaN(atMs) ? [] : [atMs];
    });
    // The API server writes whole seconds, so the second itself counts.
    const untilMs = made.length === 0 ? round.lastMs : Math.max(...made) + 999;
    const catalog = this.#catalog;
    if (catalog === undefined) return;
    try {
      const judged = await judge({ round, objects, untilMs }, catalog, this.#request);
      if (judged.pods > 0 || round.launched.length === 0) this.#waiting.add(judged);
      else this.#leaveOut(leftOf([round]));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      this.#output.err(`a round cannot be compared: ${error.text}\n`);
    }
  }

  #leaveOut(left: Left): void {
    this.#totals = withLeft(this.#totals, left);
    this.#output.err(withoutPodsText(left));
  }

  #tell(judged: Judged): void {
    const { round } = judged.seen;
    const isLate = this.#world.clock.nowMs() - round.lastMs > launchMs;
    const launched = launchedOf(judged, this.#state.now(), { isLate });
    if (launched === undefined) return;
    this.#waiting.delete(judged);
    const comparison = judged.compare(launched);
    if (launched.length === 0 && comparison.ends.length === 0) return;
    const compared = { ...comparison, atMs: round.beganMs, pods: judged.pods };
    this.#totals = added(this.#totals, comparison);
    this.#output.out(this.#request.output === 'json' ? jsonLine(compared) : textOf(compared));
  }
}

const leftOf = (rounds: readonly Round[]): Left => ({
  launches: rounds.reduce((count, { launched }) => count + launched.length, 0),
  ends: rounds.reduce((count, { ended }) => count + ended.length, 0),
});
