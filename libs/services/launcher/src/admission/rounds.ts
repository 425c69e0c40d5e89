import type { AdmissionNumber, PlanMessage, Verdict } from '@dovetail/contracts';
import type { Clock, Hash, Log, Metrics, Term } from '@dovetail/core-ports';
import type { AdmissionConfig } from '../config.js';
import { groupBy } from '../loop/group-by.js';
import { inParallel } from '../loop/in-parallel.js';
import type { StateTeller } from '../tell/state-teller.js';
import type { CatalogView } from '../world/catalog-view.js';
import { classKey, type World } from '../world/world.js';
import type { Writer } from '../world/writer.js';
import { claimObject } from './claim-object.js';
import { renderRound, type OpenRound } from './fence.js';
import { Judge } from './judge.js';
import type { AdmittedNode, AdmittedPlacement, CheckBin, JudgedBin, RefusedBin } from './judged.js';
import { AdmissionMemory } from './ledger.js';
import { Promising } from './promising.js';
import { reason } from './reasons.js';
import type { Telling } from './telling.js';
import { claimsOfPlan, retoldVerdicts, verdictsOfBin, verdictsOfUnplaced } from './verdicts.js';

export type RoundsDeps = {
  readonly clock: Clock;
  readonly hash: Hash;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly world: World;
  readonly writer: Writer;
  readonly catalog: CatalogView;
  /** The checker for a round that begins now. */
  readonly checker: () => CheckBin;
  readonly teller: Pick<StateTeller, 'tellHead' | 'tellVerdicts'>;
  readonly telling: Telling;
  readonly term: Term;
  /** Called when claims were made: there is something to launch. */
  readonly onClaims: () => void;
};

/** Plans whose verdicts are remembered, so that one that comes again is answered and not judged again. */
const judgedMax = 4_096;

/** The log of admissions, while this launcher leads: rounds with a number each, fenced, judged, carried out and told in this order. */
export class Rounds {
  readonly #deps: RoundsDeps;
  readonly #config: AdmissionConfig;
  readonly #memory = new AdmissionMemory();
  readonly #promising: Promising;
  readonly #judged = new Map<string, readonly Verdict[]>();
  readonly #inherited: OpenRound | undefined;
  #number = 0;

  constructor(deps: RoundsDeps, config: AdmissionConfig, inherited: OpenRound | undefined) {
    this.#deps = deps;
    this.#config = config;
    this.#inherited = inherited;
    this.#promising = new Promising(deps.world, deps.writer, () => deps.clock.nowMs());
  }

  /** The last admission: 0 at the start of a term, so that solvers hear of the new epoch before its first round. */
  get head(): AdmissionNumber { return { epoch: this.#deps.term.epoch, number: this.#number }; }

  /**
   * Admits what holds of these plans. Resolves when the claims are there and the verdicts told: then the plans may be acked. Rejects with
   * LeadershipLost when another leads, and with BusError or KubeError when the fence or the verdicts could not be written.
   */
  async admit(plans: readonly PlanMessage[]): Promise<void> {
    const fresh = plans.filter((plan) => !this.#wasJudged(plan));
    await this.#retell(plans.filter((plan) => !fresh.includes(plan)));
    if (fresh.length === 0) return;
    const { clock, term, teller, telling, metrics } = this.#deps;
    const startedMs = clock.nowMs();
    this.#number += 1;
    const admission = this.head;
    await term.guardedWrite(renderRound({ number: admission.number, planIds: fresh.map((plan) => plan.id) }));
    const outcomes = await this.#carryOut(this.#judge(fresh, admission), admission);
    const round = { admission, atMs: clock.nowMs() };
    for (const plan of fresh) {
      this.#remember(plan.id, [...outcomes.filter((bin) => bin.plan === plan).flatMap((bin) => verdictsOfBin(bin, round)), ...verdictsOfUnplaced(plan, round)]);
    }
    await teller.tellHead(admission);
    await teller.tellVerdicts(fresh.flatMap((plan) => this.#judged.get(plan.id) ?? []));
    telling.round(outcomes, fresh, admission);
    metrics.observe('dovetail_admission_round_seconds', (clock.nowMs() - startedMs) / 1000);
  }

  #judge(plans: readonly PlanMessage[], admission: AdmissionNumber): readonly JudgedBin[] {
    const { clock, checker, hash } = this.#deps;
    const nowMs = clock.nowMs();
    const judge = new Judge({ ...this.#deps, check: checker(), memory: this.#memory, sha256Hex: (text) => hash.sha256Hex(text) }, this.#config, { admission, nowMs });
    return plans.flatMap((plan) => judge.judge(plan));
  }

  #wasJudged(plan: PlanMessage): boolean {
    return this.#judged.has(plan.id) || this.#inherited?.planIds.includes(plan.id) === true || claimsOfPlan(this.#deps.world, plan.id).length > 0;
  }

  async #retell(plans: readonly PlanMessage[]): Promise<void> {
    const round = { admission: this.head, atMs: this.#deps.clock.nowMs() };
    for (const plan of plans) {
      const verdicts = this.#judged.get(plan.id) ?? retoldVerdicts(plan, this.#deps.world, round);
      this.#remember(plan.id, verdicts);
      await this.#deps.teller.tellVerdicts(verdicts);
      this.#deps.log.info('plan-judged-before', 'a plan came again, its verdicts are told again', { plan: plan.id });
    }
  }

  async #carryOut(bins: readonly JudgedBin[], admission: AdmissionNumber): Promise<readonly JudgedBin[]> {
    const nodes = bins.filter((bin) => bin.kind === 'new-node');
    const made = new Map<JudgedBin, JudgedBin>();
    await inParallel(nodes, this.#config.writesInParallel, async (bin) => { made.set(bin, await this.#createClaim(bin, admission)); });
    if (nodes.length > 0) this.#deps.onClaims();
    // Promises on one holder follow each other: each is written on top of the one before.
    const byHolder = groupBy(bins.filter((bin) => bin.kind === 'placement'), (bin) => bin.holder.uid);
    await inParallel([...byHolder.values()], this.#config.writesInParallel, async (placements) => {
      for (const placement of placements) made.set(placement, await this.#givePromise(placement));
    });
    return bins.map((bin) => made.get(bin) ?? bin);
  }

  async #createClaim(bin: AdmittedNode, admission: AdmissionNumber): Promise<JudgedBin> {
    const { world, writer, log } = this.#deps;
    try {
      await writer.createClaim(claimObject(bin, admission, world.nodeClasses.one('key', classKey(bin.pool.classRef))));
      return bin;
    } catch (error) {
      log.warn('claim-not-made', 'a NodeClaim could not be made, its pods go back to the planner', { claim: bin.claimName, error: String(error) });
      return failed(bin, error);
    }
  }

  async #givePromise(bin: AdmittedPlacement): Promise<JudgedBin> {
    try {
      const why = await this.#promising.give(bin);
      return why === undefined ? bin : refusedFor(bin, why);
    } catch (error) {
      this.#deps.log.warn('promise-not-written', 'a promise could not be written, its pods go back to the planner', { holder: bin.holder.name, error: String(error) });
      return failed(bin, error);
    }
  }

  #remember(planId: string, verdicts: readonly Verdict[]): void {
    this.#judged.set(planId, verdicts);
    if (this.#judged.size > judgedMax) this.#judged.delete(this.#judged.keys().next().value ?? '');
  }
}

const refusedFor = (bin: AdmittedNode | AdmittedPlacement, why: RefusedBin['reasons'][number]): RefusedBin =>
  ({ kind: 'refused', plan: bin.plan, binId: bin.binId, podUids: bin.podUids, ...(bin.kind === 'new-node' ? { pool: bin.pool.identity } : {}), reasons: [why] });

const failed = (bin: AdmittedNode | AdmittedPlacement, error: unknown): RefusedBin =>
  refusedFor(bin, reason('admission-failed', `the API server did not take it: ${String(error)}`, { error: String(error) }));
