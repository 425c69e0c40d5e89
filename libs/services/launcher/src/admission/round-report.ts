import type { AdmissionNumber, Decision } from '@dovetail/contracts';
import { type Pool, poolKey, poolLabelOf } from '@dovetail/core-api';
import { type CatalogView, type Cluster, typesOfPool } from '@dovetail/core-cluster';
import { compareText } from '@dovetail/core-kube-model';
import type { Log, Metrics } from '@dovetail/core-ports';
import type { BinOption, Reason } from '@dovetail/core-scheduling';
import {
  aboutPod,
  countText,
  type Decisions,
  type EventRecorder,
  groupBy,
} from '@dovetail/service-kit';

import { admissionText } from '../cluster/admission-mark.js';
import { admitId, judging, type TracedPlan } from '../cluster/traced-plan.js';
import type { Nominations, Nominee } from '../tell/nominations.js';
import type { AdmittedNode, AdmittedPlacement, JudgedBin, RefusedBin } from './judged.js';
import { leftPods } from './left-pods.js';
import { ToldPods } from './told-pods.js';

/**
 * Enough to see what the planner weighed; all of hundreds of options would make the message large.
 */
const alternativesMax = 20;

/** The outlets of a report, and the cluster whose pods it names. */
export type RoundReportDeps = {
  readonly decisions: Decisions;
  readonly events: EventRecorder;
  readonly nominations: Nominations;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly cluster: Cluster;
  readonly catalog: CatalogView;
};

/** Reports the outcomes of a round: decisions, Events on pods, metrics. */
export class RoundReport {
  readonly #deps: RoundReportDeps;
  readonly #told = new ToldPods();

  constructor(deps: RoundReportDeps) {
    this.#deps = deps;
  }

  /** Reports the judged bins, and the pods of the plans that fit nowhere. */
  record(
    bins: readonly JudgedBin[],
    plans: readonly TracedPlan[],
    admission: AdmissionNumber,
  ): void {
    for (const bin of bins) {
      if (bin.kind === 'new-node') this.#admitted(bin, admission);
      else if (bin.kind === 'placement') this.#placed(bin, admission);
      else this.#refused(bin, admission);
      this.#deps.metrics.count('dovetail_admission_bins_total', {
        outcome: bin.kind === 'refused' ? 'refused' : 'admitted',
        code: bin.kind === 'refused' ? (bin.reasons[0]?.code ?? '') : '',
      });
    }
    this.#told.prune((uid) => this.#deps.cluster.pods.get(uid) !== undefined);
    for (const plan of plans) this.#unplaced(plan);
  }

  #admitted(bin: AdmittedNode, admission: AdmissionNumber): void {
    this.#deps.metrics.count('karpenter_nodeclaims_created_total', {
      reason: bin.plan.cause.kind === 'pending' ? 'provisioned' : bin.plan.cause.reason,
      nodepool: bin.pool.identity.name,
      min_values_relaxed: String(bin.bin.minValuesRelaxed),
    });
    const [cheapest, ...others] = bin.options;
    this.#deps.decisions.tell(
      {
        id: admitId(bin.plan, bin.binId),
        kind: 'admit',
        pool: bin.pool.identity,
        planId: bin.plan.id,
        claimName: bin.claimName,
        summary: `packed ${countText(bin.podUids.length, 'pod')} on a node of ${poolKey(bin.pool.identity)}: ${cheapest?.instanceType ?? ''} or ${countText(others.length, 'other offering')}`,
        ...(cheapest === undefined
          ? {}
          : { ...offeringFields(cheapest), priceEstimated: this.#isEstimated(bin.pool, cheapest) }),
        objects: [{ kind: 'NodeClaim', name: bin.claimName }, ...this.#pods(bin.podUids)],
        reasons: [...bin.bin.notes, ...this.#left(bin.podUids)],
        alternatives: alternativesOf(others),
        facts: admittedFacts(bin, admission),
      },
      judging(bin.plan),
    );
    this.#told.placed(bin.podUids);
    this.#nominate(bin.podUids, { claimName: bin.claimName });
  }

  /** Whether the catalog has no published price for the option, as the decision to launch says. */
  #isEstimated(pool: Pool, { instanceType, zone, capacityType }: BinOption): boolean {
    const type = typesOfPool(this.#deps.catalog, pool).get(instanceType);
    const offering = type?.offerings.find(
      (one) => one.zone === zone && one.capacityType === capacityType,
    );
    return offering?.priceEstimated ?? false;
  }

  #placed(bin: AdmittedPlacement, admission: AdmissionNumber): void {
    this.#deps.decisions.tell(
      {
        id: admitId(bin.plan, bin.binId),
        kind: 'admit',
        planId: bin.plan.id,
        summary: `found room for ${countText(bin.podUids.length, 'pod')} on ${bin.placement.nodeName}`,
        priceMicrosPerHour: 0,
        reasons: [
          {
            code: 'existing-room',
            message: `${bin.placement.nodeName} has room, so no node is launched`,
            values: {},
          },
          ...this.#left(bin.podUids),
        ],
        objects: [
          { kind: bin.holder.kind, name: bin.holder.name, uid: bin.holder.uid },
          ...this.#pods(bin.podUids),
        ],
        facts: { admission: admissionText(admission), pods: String(bin.podUids.length) },
      },
      judging(bin.plan),
    );
    this.#told.placed(bin.podUids);
    this.#nominate(bin.podUids, this.#nomineeOf(bin.holder));
  }

  #refused(bin: RefusedBin, admission: AdmissionNumber): void {
    this.#deps.decisions.tell(
      {
        id: `refuse/${bin.plan.id}/${bin.binId}`,
        kind: 'refuse',
        planId: bin.plan.id,
        ...(bin.pool === undefined ? {} : { pool: bin.pool }),
        summary: `refused ${bin.binId} of a plan: ${bin.reasons[0]?.message ?? ''}`,
        reasons: bin.reasons,
        objects: this.#pods(bin.podUids),
        facts: { admission: admissionText(admission), code: bin.reasons[0]?.code ?? '' },
      },
      judging(bin.plan),
    );
    this.#held(bin);
  }

  /** Names the pods that get no node for a reason of their own: an Event and a log line each. */
  #held({ heldPodUids = [], reasons }: RefusedBin): void {
    const { cluster, events, log, metrics } = this.#deps;
    for (const uid of heldPodUids) {
      const pod = cluster.pods.get(uid);
      const why = reasons.find(({ values }) => values['podUid'] === uid);
      const isVain = why?.code === 'no-progress';
      if (isVain) metrics.count('dovetail_pods_held_total');
      if (pod === undefined || why === undefined) continue;
      const isBroken = why.code === 'constraint-broken';
      if (isBroken)
        metrics.count('dovetail_pods_planned_alone_total', { rule: why.values['code'] ?? '' });
      log[isBroken ? 'error' : 'warn'](why.code, why.message, why.values);
      events.record({
        about: aboutPod(pod),
        type: 'Warning',
        reason: isVain ? 'NoProgress' : isBroken ? 'PlannedAlone' : 'VolumesUnknown',
        message: `${why.message}. Remedy: ${why.remedy ?? ''}`,
      });
    }
  }

  /**
   * Publishes one decision for the unplaced pods of a plan with equal reasons that it is news of,
   * and an Event for each unplaced pod. The recorder counts Events that are repeated. A pod that
   * runs on a node which is to be replaced waits for nothing: the reaper tells why its node stays.
   */
  #unplaced(plan: TracedPlan): void {
    const { pods: known } = this.#deps.cluster;
    const waiting = plan.plan.unplaced.filter(
      ({ podUid }) => known.get(podUid)?.nodeName === undefined,
    );
    const alike = groupBy(waiting, ({ reasons }) =>
      reasons.map((each) => `${each.code}/${each.subject ?? ''}/${each.message}`).join(';'),
    );
    for (const [key, pods] of [...alike].sort(([a], [b]) => compareText(a, b))) {
      const reasons = pods[0]?.reasons ?? [];
      const uids = pods.map(({ podUid }) => podUid);
      this.#tellUnplaced(plan, { uids: this.#told.news(uids, reasons), reasons, key });
      for (const { podUid } of pods) {
        const pod = known.get(podUid);
        if (pod !== undefined)
          this.#deps.events.record({
            about: aboutPod(pod),
            type: 'Warning',
            reason: 'FailedScheduling',
            message: `Failed to schedule pod, ${sentenceOf(reasons)}`,
          });
      }
    }
  }

  #tellUnplaced(
    plan: TracedPlan,
    of: {
      readonly uids: readonly string[];
      readonly reasons: readonly Reason[];
      readonly key: string;
    },
  ): void {
    const [first] = [...of.uids].sort(compareText);
    if (first === undefined) return;
    this.#deps.decisions.tell(
      {
        id: `unschedulable/${plan.id}/${first}`,
        kind: 'unschedulable',
        planId: plan.id,
        summary: `found no place for ${countText(of.uids.length, 'pod')}: ${sentenceOf(of.reasons)}`,
        reasons: of.reasons,
        objects: this.#pods(of.uids),
        facts: { pods: String(of.uids.length), like: of.key.slice(0, 200) },
      },
      judging(plan),
    );
  }

  #nominate(podUids: readonly string[], nominee: Nominee): void {
    this.#deps.nominations.nominate(
      podUids.flatMap((uid) => this.#deps.cluster.pods.get(uid) ?? []),
      nominee,
    );
  }

  #nomineeOf(holder: AdmittedPlacement['holder']): Nominee {
    const { claims, nodes } = this.#deps.cluster;
    if (holder.kind === 'NodeClaim')
      return { claimName: holder.name, nodeName: claims.get(holder.uid)?.nodeName };
    const node = nodes.get(holder.uid);
    return {
      claimName: node === undefined ? undefined : this.#deps.cluster.claimOfNode(node)?.name,
      nodeName: holder.name,
    };
  }

  #left(uids: readonly string[]): readonly Reason[] {
    return leftPods(uids.flatMap((uid) => this.#deps.cluster.pods.get(uid) ?? []));
  }

  #pods(
    uids: readonly string[],
  ): readonly {
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
  }[] {
    return uids.map((uid) => {
      const pod = this.#deps.cluster.pods.get(uid);
      return {
        kind: 'Pod',
        uid,
        name: pod?.name ?? uid,
        ...(pod === undefined ? {} : { namespace: pod.namespace }),
      };
    });
  }
}

const offeringFields = ({
  priceMicrosPerHour,
  instanceType,
  zone,
  capacityType,
}: BinOption): Pick<
  BinOption,
  'priceMicrosPerHour' | 'instanceType' | 'zone' | 'capacityType'
> => ({ priceMicrosPerHour, instanceType, zone, capacityType });

const alternativesOf = (others: readonly BinOption[]): Decision['alternatives'] =>
  others
    .slice(0, alternativesMax)
    .map((option) => ({
      what: `${option.instanceType} ${option.capacityType} ${option.zone}`,
      priceMicrosPerHour: option.priceMicrosPerHour,
    }));

const admittedFacts = (
  { podUids, options, plan, bin, pool }: AdmittedNode,
  admission: AdmissionNumber,
): Readonly<Record<string, string>> => ({
  admission: admissionText(admission),
  pods: String(podUids.length),
  options: String(options.length),
  solver: plan.solver,
  requests: JSON.stringify(bin.requests),
  poolLabel: poolLabelOf(pool.identity.kind),
});

const sentenceOf = (reasons: readonly Reason[]): string =>
  reasons
    .map((each) => `${each.subject === undefined ? '' : `${each.subject}: `}${each.message}`)
    .join('; ');
