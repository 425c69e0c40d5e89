import type { AdmissionNumber, PlanMessage } from '@dovetail/contracts';
import { type Pool, poolKey, type PromiseAnnotation } from '@dovetail/core-api';
import {
  type CatalogView,
  type ChurnGuard,
  type Cluster,
  type TypesByName,
  typesOfPool,
  type VainPools,
  type VainTypes,
} from '@dovetail/core-cluster';
import { addResources, type Pod, type Resources, sumResources } from '@dovetail/core-kube-model';
import type { ExistingNode, NewNode, Placement, Reason } from '@dovetail/core-scheduling';

import { admissionText } from '../cluster/admission-mark.js';
import { alreadyReplaced } from './already-replaced.js';
import { BinOptions } from './bin-options.js';
import {
  type CheckBin,
  claimNameOf,
  isOfCommand,
  type JudgedBin,
  placementId,
  type RefusedBin,
  refusedBin,
  wholeOrNothing,
} from './judged.js';
import { LaterBins } from './later-bins.js';
import { type AdmissionMemory, Ledger } from './ledger.js';
import { type Admitted, nodeToBe } from './node-to-be.js';
import { largestUse, leastOffered } from './options.js';
import { poolHeldNow } from './pool-hold.js';
import { promiseOf } from './promise-of.js';
import { RuleCheck } from './rule-check.js';
import {
  groupTouched,
  nodeFull,
  nodeRetiring,
  noProgress,
  olderEpoch,
  podsNotFree,
  poolUnusable,
  tooOld,
} from './rules.js';
import { soundBin } from './sound-bin.js';
import { refusedForVolumes } from './unknown-volumes.js';

/** The age limit of plans, and how long admitted pods keep their room. Milliseconds. */
export type JudgeOptions = {
  readonly planAgeMaxMs: number;
  /** How long room on an initialized node is kept. */
  readonly promiseMs: number;
  /** How long room for a replacement's pods is kept on a node that exists. */
  readonly replacementPromiseMs: number;
};

/** The state that plans are judged against, and the checker of their bins. */
export type JudgeDeps = {
  readonly cluster: Cluster;
  readonly catalog: CatalogView;
  readonly memory: AdmissionMemory;
  /** Knows the pods for which nodes were bought in vain. */
  readonly churn: Pick<ChurnGuard, 'holds' | 'admitted'>;
  /** Knows the types that never became usable nodes of a pool. */
  readonly vainTypes: Pick<VainTypes, 'usable'>;
  /** Knows the pools of which nodes of several types never became usable. */
  readonly vainPools: Pick<VainPools, 'holdOf' | 'isFailing'>;
  readonly check: CheckBin;
  readonly sha256Hex: (text: string) => string;
};

/**
 * Judges one round: each bin by itself, in the plans' order, with the bins admitted before it in
 * place.
 */
export class Judge {
  readonly #deps: JudgeDeps;
  readonly #options: JudgeOptions;
  readonly #ledger: Ledger;
  readonly #admission: AdmissionNumber;
  readonly #nowMs: number;
  readonly #binOptions: BinOptions;
  readonly #rules: RuleCheck;

  constructor(
    deps: JudgeDeps,
    options: JudgeOptions,
    round: {
      readonly admission: AdmissionNumber;
      readonly nowMs: number;
      /** The nodes as they are when the round begins. */
      readonly nodes: readonly ExistingNode[];
    },
  ) {
    this.#deps = deps;
    this.#options = options;
    this.#admission = round.admission;
    this.#nowMs = round.nowMs;
    this.#ledger = new Ledger(deps.cluster, deps.catalog, round);
    this.#binOptions = new BinOptions(this.#ledger);
    this.#rules = new RuleCheck({
      check: deps.check,
      ledger: this.#ledger,
      podsOf: (uids) => this.#podsOf(uids),
    });
  }

  /**
   * Judges the bins of one plan, each when it is asked for; placements come first. The caller may
   * do other work between two of them. The plan of a command is admitted whole or not at all.
   */
  *judge(message: PlanMessage): Generator<JudgedBin> {
    const later = new LaterBins(message, {
      podsOf: (uids) => this.#podsOf(uids),
      stillHolds: (bin) => this.#podsOrGroups(message, bin) === undefined,
    });
    const end = this.#deps.cluster.subscribe((change) => later.heard(change));
    try {
      const bins = this.#bins(message, later);
      yield* isOfCommand(message) ? this.#whole(message, bins) : bins;
    } finally {
      end();
    }
  }

  /** Judges the bins of a command. If any is refused, all are, and nothing stays taken. */
  #whole(message: PlanMessage, bins: Iterable<JudgedBin>): readonly JudgedBin[] {
    const trials = [this.#ledger.trial, this.#deps.memory.trial];
    for (const trial of trials) trial.begin();
    const judged = [...bins];
    const whole = wholeOrNothing(message, judged);
    for (const trial of trials) trial.settle(whole === judged);
    return whole;
  }

  *#bins(message: PlanMessage, later: LaterBins): Generator<JudgedBin> {
    const whole =
      tooOld(message, this.#nowMs, this.#options.planAgeMaxMs) ??
      olderEpoch(message.admissionSeen, this.#admission.epoch);
    for (const [index, placement] of message.plan.placements.entries()) {
      later.judging(placement);
      yield whole === undefined
        ? (refusedForVolumes(this.#deps.cluster, message, placementId(index), placement) ??
          this.#placement(message, { placement, index }, later))
        : refusedBin(message, placementId(index), placement, [whole]);
    }
    for (const [index, bin] of message.plan.newNodes.entries()) {
      later.judging(bin);
      yield whole === undefined
        ? (refusedForVolumes(this.#deps.cluster, message, bin.id, bin) ??
          this.#newNode(message, { bin, index }, later))
        : refusedBin(message, bin.id, bin, [whole]);
    }
  }

  #placement(
    message: PlanMessage,
    { placement, index }: { readonly placement: Placement; readonly index: number },
    later: LaterBins,
  ): JudgedBin {
    const binId = placementId(index);
    const node = this.#ledger.node(placement.nodeUid);
    const pods = this.#podsOf(placement.podUids);
    const requests = sumResources(pods.map((pod) => pod.requests));
    const why =
      this.#podsOrGroups(message, placement) ??
      nodeRetiring(placement, node) ??
      (node === undefined ? undefined : nodeFull(requests, node));
    if (why !== undefined || node === undefined)
      return refusedBin(message, binId, placement, why === undefined ? [] : [why]);
    const violations = this.#rules.broken(
      message,
      { ...placement, nodeName: node.name, nodeUid: node.uid },
      later,
    );
    if (violations.length > 0) return this.#broken(message, binId, placement, violations);
    const untilMs = this.#takeRoom(message, placement, { node, pods, requests });
    return {
      kind: 'placement',
      plan: message,
      binId,
      podUids: placement.podUids,
      placement,
      holder: this.#ledger.holderOf(node),
      promise: this.#promise(message, placement.podUids, requests, untilMs),
    };
  }

  /** Counts the placement in, so that later bins see it. Answers until when its room is kept. */
  #takeRoom(
    message: PlanMessage,
    placement: Placement,
    on: {
      readonly node: ExistingNode;
      readonly pods: readonly Pod[];
      readonly requests: Resources;
    },
  ): number {
    const { memory } = this.#deps;
    const isReplacement = message.cause.kind === 'replacement';
    if (isReplacement) memory.replaced(placement.podUids, message.id, this.#nowMs);
    memory.touch(placement.topologyGroups, this.#admission, message.id);
    memory.refusedPods.admitted(placement.podUids);
    this.#ledger.replaceNode(
      placement.nodeUid,
      isReplacement
        ? { ...on.node, reserved: addResources(on.node.reserved, on.requests) }
        : { ...on.node, promisedPods: [...on.node.promisedPods, ...on.pods] },
    );
    const { promiseMs, replacementPromiseMs } = this.#options;
    return this.#nowMs + (isReplacement ? replacementPromiseMs : promiseMs);
  }

  #newNode(
    message: PlanMessage,
    { bin, index }: { readonly bin: NewNode; readonly index: number },
    later: LaterBins,
  ): JudgedBin {
    const key = poolKey(bin.pool);
    const pool = this.#deps.cluster.pools.one('key', key);
    const why =
      this.#podsOrGroups(message, bin) ??
      poolUnusable(pool, key, this.#deps.memory.launchesLastMinute(key, this.#nowMs));
    if (why !== undefined || pool === undefined)
      return refusedBin(message, bin.id, bin, why === undefined ? [] : [why]);
    const held = poolHeldNow(pool.identity, { ...this.#deps, nowMs: this.#nowMs });
    if (held !== undefined)
      return { ...refusedBin(message, bin.id, bin, [held]), heldPodUids: bin.podUids };
    const types = typesOfPool(this.#deps.catalog, pool);
    const left = this.#binOptions.left(message, index, pool, types);
    if (!left.ok) return refusedBin(message, bin.id, bin, [left.reason]);
    const sound = soundBin({ ...bin, options: left.options }, pool, {
      ...this.#deps,
      broken: (one) => this.#rules.broken(message, one, later),
    });
    if ('broken' in sound) return this.#broken(message, bin.id, bin, sound.broken);
    return this.#held(message, sound, pool, types) ?? this.#admit(message, sound, pool, types);
  }

  /** Refuses a bin that breaks rules. Pods that did so before by the same rule are held. */
  #broken(
    message: PlanMessage,
    binId: string,
    bin: NewNode | Placement,
    reasons: readonly Reason[],
  ): RefusedBin {
    const refused = refusedBin(message, binId, bin, reasons);
    if (message.cause.kind === 'replacement') return refused;
    return { ...refused, heldPodUids: this.#deps.memory.refusedPods.refused(reasons) };
  }

  /** Refuses a node for pods that nodes of its size were bought for in vain. */
  #held(
    message: PlanMessage,
    bin: NewNode,
    pool: Pool,
    types: TypesByName,
  ): RefusedBin | undefined {
    if (message.cause.kind === 'replacement') return undefined;
    const offers = leastOffered(bin.options, types);
    const held = this.#podsOf(bin.podUids).flatMap((pod) => {
      const churn = this.#deps.churn.holds(pod, { pool, offers }, this.#nowMs);
      return churn === undefined ? [] : [{ pod, churn }];
    });
    return held.length === 0
      ? undefined
      : {
          ...refusedBin(
            message,
            bin.id,
            bin,
            held.map(({ pod, churn }) => noProgress(pod, churn)),
          ),
          heldPodUids: held.map(({ pod }) => pod.uid),
        };
  }

  /** Counts the bin in, so that later bins see it. */
  #admit(message: PlanMessage, bin: NewNode, pool: Pool, types: TypesByName): JudgedBin {
    const pods = this.#podsOf(bin.podUids);
    const claimName = claimNameOf(
      {
        poolName: pool.identity.name,
        admission: this.#admission,
        planId: message.id,
        binId: bin.id,
      },
      this.#deps.sha256Hex,
    );
    this.#take(message, bin, { pool, types, pods, claimName });
    if (message.cause.kind === 'pending')
      this.#deps.churn.admitted(pods, pool, {
        claimName,
        atMs: this.#nowMs,
        offers: leastOffered(bin.options, types),
      });
    const requests = sumResources(pods.map((pod) => pod.requests));
    return {
      kind: 'new-node',
      plan: message,
      binId: bin.id,
      podUids: bin.podUids,
      claimName,
      pool,
      bin,
      options: bin.options,
      promise: this.#promise(message, bin.podUids, requests),
    };
  }

  #podsOrGroups(message: PlanMessage, bin: NewNode | Placement): Reason | undefined {
    const facts = {
      pod: (uid: string) => this.#deps.cluster.pods.get(uid),
      promisedTo: (uid: string) => this.#ledger.promisedTo(uid),
    };
    return (
      podsNotFree(bin.podUids, message.cause, facts) ??
      alreadyReplaced(message, bin.podUids, { ...this.#deps, nowMs: this.#nowMs }) ??
      groupTouched(bin, message, this.#deps.memory.touched)
    );
  }

  #take(message: PlanMessage, bin: NewNode, as: Admitted): void {
    this.#ledger.use(as.pool, largestUse(bin.options, as.types, Object.keys(as.pool.limits)));
    this.#ledger.addNode(nodeToBe(bin, as, message.cause.kind === 'replacement'));
    this.#deps.memory.launched(poolKey(as.pool.identity), this.#nowMs);
    if (message.cause.kind === 'replacement')
      this.#deps.memory.replaced(bin.podUids, message.id, this.#nowMs);
    this.#deps.memory.touch(bin.topologyGroups, this.#admission, message.id);
    this.#deps.memory.refusedPods.admitted(bin.podUids);
  }

  #promise(
    message: PlanMessage,
    podUids: readonly string[],
    requests: Resources,
    untilMs?: number,
  ): PromiseAnnotation {
    const until = untilMs === undefined ? {} : { untilMs };
    const shared = { admission: admissionText(this.#admission), ...until };
    return promiseOf(message.cause, { pods: this.#podsOf(podUids), podUids, requests, shared });
  }

  #podsOf(uids: readonly string[]): readonly Pod[] {
    return uids.flatMap((uid) => this.#deps.cluster.pods.get(uid) ?? []);
  }
}
