import type { AdmissionNumber, Channel, PlanMessage, Verdict } from '@dovetail/contracts';
import type { NodeClass } from '@dovetail/core-api';
import {
  type CatalogView,
  type ChurnGuard,
  classKey,
  type Cluster,
  type VainPools,
  type VainTypes,
} from '@dovetail/core-cluster';
import {
  type Clock,
  type Epoch,
  type Hash,
  type Leadership,
  LeadershipLost,
  type Log,
  type Metrics,
} from '@dovetail/core-ports';
import { groupBy, inParallel, Turns } from '@dovetail/service-kit';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import { traceparentOfBin } from '../cluster/traced-plan.js';
import type { AdmissionConfig } from '../config.js';
import type { LauncherFeed } from '../tell/launcher-feed.js';
import type { Checker } from './checker.js';
import { claimObject } from './claim-object.js';
import { Judge } from './judge.js';
import type { AdmittedNode, AdmittedPlacement, JudgedBin, RefusedBin } from './judged.js';
import { JudgedPlans } from './judged-plans.js';
import { AdmissionMemory } from './ledger.js';
import { type OpenRound, renderRound } from './open-round.js';
import { createPatiently } from './patient-create.js';
import { PromiseWriter } from './promise-writer.js';
import { reason } from './reason.js';
import type { RoundReport } from './round-report.js';
import { claimsOfPlan, repeatedVerdicts, verdictsOf } from './verdicts.js';

/** The state, the checker, and the writers of a round. */
export type RoundsDeps = {
  readonly clock: Clock;
  readonly hash: Hash;
  readonly log: Log;
  readonly metrics: Metrics;
  /** By which claims name their admission's place in a trace. */
  readonly channel: Pick<Channel, 'cluster' | 'hash' | 'traces'>;
  readonly cluster: Cluster;
  readonly writer: ClusterWriter;
  readonly catalog: CatalogView;
  /** The class as discovery knows it, with the hash that its claims carry. */
  readonly classOf: (key: string) => NodeClass | undefined;
  readonly checker: Pick<Checker, 'nodesInTurns' | 'asOfNow'>;
  readonly feed: Pick<LauncherFeed, 'publishHead' | 'publishVerdicts'>;
  readonly report: Pick<RoundReport, 'record'>;
  readonly churn: ChurnGuard;
  readonly vainTypes: Pick<VainTypes, 'usable'>;
  readonly vainPools: Pick<VainPools, 'holdOf' | 'isFailing'>;
  readonly epoch: Epoch;
  readonly leadership: Pick<Leadership, 'held'>;
  /** Called when claims were made: there is something to launch. */
  readonly onClaims: () => void;
};

/**
 * A round that was judged for longer than this, in milliseconds, is fenced again before it is
 * carried out. This is a third of the Lease's default duration, when a renewal is due as well.
 */
const fenceAgainMs = 5_000;
/** A share of the container's memory (768 MiB in the chart) that repeated answers are worth. */
const verdictBytesMax = 32 * 1024 * 1024;

/**
 * The log of admissions of one epoch: numbered rounds, each fenced, judged, carried out and
 * published.
 */
export class Rounds {
  readonly #deps: RoundsDeps;
  readonly #config: AdmissionConfig;
  readonly #memory = new AdmissionMemory();
  readonly #promises: PromiseWriter;
  readonly #judged: JudgedPlans;
  readonly #inherited: OpenRound | undefined;
  #number = 0;

  constructor(deps: RoundsDeps, config: AdmissionConfig, inherited: OpenRound | undefined) {
    this.#deps = deps;
    this.#config = config;
    this.#inherited = inherited;
    this.#judged = new JudgedPlans({ planAgeMaxMs: config.planAgeMaxMs, verdictBytesMax });
    this.#promises = new PromiseWriter(deps.cluster, deps.writer, () => deps.clock.nowMs());
  }

  /**
   * The last admission: 0 at the start of an epoch, so that solvers learn of the new epoch before
   * its first round.
   */
  get head(): AdmissionNumber {
    return { epoch: this.#deps.epoch.number, number: this.#number };
  }

  /**
   * Admits what holds of these plans. Resolves when the claims are there and the verdicts told:
   * then the plans may be acked. Rejects with LeadershipLost when another leads, and with BusError
   * or KubeError when the fence or the verdicts could not be written.
   */
  async admit(plans: readonly PlanMessage[]): Promise<void> {
    const fresh = plans.filter((plan) => !this.#wasJudged(plan));
    await this.#repeat(plans.filter((plan) => !fresh.includes(plan)));
    if (fresh.length === 0) return;
    const { clock, epoch, feed, report, metrics } = this.#deps;
    const startedMs = clock.nowMs();
    this.#number += 1;
    const admission = this.head;
    const fence = renderRound({ number: admission.number, planIds: fresh.map((plan) => plan.id) });
    await epoch.guardedWrite(fence);
    const fencedMs = clock.nowMs();
    const judged = await this.#judge(fresh, admission);
    if (clock.nowMs() - fencedMs >= fenceAgainMs) await epoch.guardedWrite(fence);
    const outcomes = await this.#carryOut(judged, admission);
    const round = { admission, atMs: clock.nowMs() };
    const verdicts = fresh.flatMap((plan) =>
      this.#remember(plan, verdictsOf(plan, outcomes, round)),
    );
    this.#leads();
    await feed.publishHead(admission, epoch.stop);
    this.#leads();
    await feed.publishVerdicts(verdicts);
    report.record(outcomes, fresh, admission);
    metrics.observe('dovetail_admission_round_seconds', (clock.nowMs() - startedMs) / 1000);
  }

  /** Judges bin after bin. Other work of the process gets its turn in between. */
  async #judge(
    plans: readonly PlanMessage[],
    admission: AdmissionNumber,
  ): Promise<readonly JudgedBin[]> {
    const { clock, checker, hash } = this.#deps;
    const nodes = await checker.nodesInTurns(clock, this.#deps.epoch.stop);
    const nowMs = clock.nowMs();
    const judge = new Judge(
      {
        ...this.#deps,
        check: checker.asOfNow(),
        memory: this.#memory,
        sha256Hex: (text) => hash.sha256Hex(text),
      },
      this.#config,
      { admission, nowMs, nodes },
    );
    const judged: JudgedBin[] = [];
    const turns = new Turns(clock);
    for (const plan of plans) {
      for (const bin of judge.judge(plan)) {
        judged.push(bin);
        await turns.give(this.#deps.epoch.stop);
        this.#leads();
      }
    }
    return judged;
  }

  /** Throws LeadershipLost once the epoch has ended: nothing more may be written. */
  #leads(): void {
    const { epoch, leadership } = this.#deps;
    if (epoch.stop.aborted || !leadership.held())
      throw new LeadershipLost(`epoch ${epoch.number} has ended`);
  }

  #wasJudged(plan: PlanMessage): boolean {
    return (
      this.#judged.has(plan.id) ||
      this.#inherited?.planIds.includes(plan.id) === true ||
      claimsOfPlan(this.#deps.cluster, plan.id).length > 0
    );
  }

  async #repeat(plans: readonly PlanMessage[]): Promise<void> {
    const round = { admission: this.head, atMs: this.#deps.clock.nowMs() };
    for (const plan of plans) {
      const verdicts =
        this.#judged.verdictsOf(plan.id) ?? repeatedVerdicts(plan, this.#deps.cluster, round);
      await this.#deps.feed.publishVerdicts(this.#remember(plan, verdicts));
      this.#deps.log.info(
        'plan-judged-before',
        'a plan came again; its verdicts are published again',
        { plan: plan.id },
      );
    }
  }

  async #carryOut(
    bins: readonly JudgedBin[],
    admission: AdmissionNumber,
  ): Promise<readonly JudgedBin[]> {
    const nodes = bins.filter((bin) => bin.kind === 'new-node');
    const made = new Map<JudgedBin, JudgedBin>();
    await inParallel(nodes, this.#config.writesInParallel, async (bin) => {
      this.#leads();
      made.set(bin, await this.#createClaim(bin, admission));
    });
    if (nodes.length > 0) this.#deps.onClaims();
    // Promises on one holder are written one after the other, each on top of the one before.
    const byHolder = groupBy(
      bins.filter((bin) => bin.kind === 'placement'),
      (bin) => bin.holder.uid,
    );
    await inParallel([...byHolder.values()], this.#config.writesInParallel, async (placements) => {
      for (const placement of placements) {
        this.#leads();
        made.set(placement, await this.#givePromise(placement));
      }
    });
    return bins.map((bin) => made.get(bin) ?? bin);
  }

  async #createClaim(bin: AdmittedNode, admission: AdmissionNumber): Promise<JudgedBin> {
    const { classOf, writer, log, channel } = this.#deps;
    try {
      const nodeClass = classOf(classKey(bin.pool.classRef));
      const traceparent = traceparentOfBin(channel, bin.plan, bin.binId);
      const object = claimObject(bin, { admission, traceparent }, nodeClass);
      const create = (): Promise<unknown> => {
        this.#leads();
        return writer.createClaim(object);
      };
      await createPatiently(this.#deps, bin.claimName, create, this.#deps.epoch.stop);
      return bin;
    } catch (error) {
      if (error instanceof LeadershipLost) throw error;
      log.warn('claim-not-made', 'a NodeClaim could not be made; its pods are planned again', {
        claim: bin.claimName,
        error: String(error),
      });
      return failed(bin, error);
    }
  }

  async #givePromise(bin: AdmittedPlacement): Promise<JudgedBin> {
    try {
      const why = await this.#promises.give(bin);
      return why === undefined ? bin : refusedFor(bin, why);
    } catch (error) {
      if (error instanceof LeadershipLost) throw error;
      this.#deps.log.warn(
        'promise-not-written',
        'a promise could not be written; its pods are planned again',
        { holder: bin.holder.name, error: String(error) },
      );
      return failed(bin, error);
    }
  }

  #remember(plan: PlanMessage, verdicts: readonly Verdict[]): readonly Verdict[] {
    this.#judged.remember(plan.id, verdicts, this.#deps.clock.nowMs());
    return verdicts;
  }
}

const refusedFor = (
  bin: AdmittedNode | AdmittedPlacement,
  why: RefusedBin['reasons'][number],
): RefusedBin => ({
  kind: 'refused',
  plan: bin.plan,
  binId: bin.binId,
  podUids: bin.podUids,
  ...(bin.kind === 'new-node' ? { pool: bin.pool.identity } : {}),
  reasons: [why],
});

const failed = (bin: AdmittedNode | AdmittedPlacement, error: unknown): RefusedBin =>
  refusedFor(
    bin,
    reason('admission-failed', `the API server did not take it: ${String(error)}`, {
      error: String(error),
    }),
  );
