import type { AdmissionNumber, PlanMessage } from '@dovetail/contracts';
import { poolKey, type Pool, type PromiseAnnotation } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';
import { addResources, requirementsOf, sumResources, type Pod, type Resources } from '@dovetail/core-kube-model';
import type { BinOption, ExistingNode, NewNode, Placement, Reason, Violation } from '@dovetail/core-scheduling';
import { leastOf, typesOfPool, type CatalogView } from '../world/catalog-view.js';
import { decidedLabels, openRequirements } from '../world/snapshot.js';
import type { World } from '../world/world.js';
import { claimRequirements } from './claim-object.js';
import { claimNameOf, placementId, type CheckBin, type JudgedBin, type RefusedBin } from './judged.js';
import { Ledger, type AdmissionMemory } from './ledger.js';
import { admissionText } from './number.js';
import { amountOf, availableNow, largestUse, withinLimits, withinPriceCap, type OptionsLeft } from './options.js';
import { reason } from './reasons.js';
import { groupTouched, launchRate, nodeFull, nodeRetiring, olderEpoch, podsNotFree, tooOld } from './rules.js';

export type JudgeOptions = {
  readonly planAgeMaxMs: number;
  /** How long room on a node that is initialised is kept. */
  readonly promiseMs: number;
  /** How long room for a replacement's pods is kept on a node that exists. */
  readonly replacementPromiseMs: number;
};

export type JudgeDeps = { readonly world: World; readonly catalog: CatalogView; readonly memory: AdmissionMemory; readonly check: CheckBin; readonly sha256Hex: (text: string) => string };

/** Judges one round: every bin by itself, in the plans' order, each seeing those that were admitted before it. */
export class Judge {
  readonly #deps: JudgeDeps;
  readonly #options: JudgeOptions;
  readonly #ledger: Ledger;
  readonly #admission: AdmissionNumber;
  readonly #nowMs: number;
  readonly #available = new Map<readonly BinOption[], { readonly types: ReadonlyMap<string, InstanceType>; readonly left: OptionsLeft }>();

  constructor(deps: JudgeDeps, options: JudgeOptions, round: { readonly admission: AdmissionNumber; readonly nowMs: number }) {
    this.#deps = deps;
    this.#options = options;
    this.#admission = round.admission;
    this.#nowMs = round.nowMs;
    this.#ledger = new Ledger(deps.world, deps.catalog, round.nowMs);
  }

  judge(message: PlanMessage): readonly JudgedBin[] {
    const whole = tooOld(message, this.#nowMs, this.#options.planAgeMaxMs) ?? olderEpoch(message.admissionSeen, this.#admission.epoch) ?? this.#alreadyReplaced(message);
    const placements = message.plan.placements.map((placement, index) =>
      whole === undefined ? this.#placement(message, placement, index) : refused(message, placementId(index), placement, [whole]));
    const nodes = message.plan.newNodes.map((bin, index) => (whole === undefined ? this.#newNode(message, bin, index) : refused(message, bin.id, bin, [whole])));
    return [...placements, ...nodes];
  }

  /**
   * Refuses a second replacement for one node: whoever retires it may ask again after a crash. The claims that stand say so;
   * what was admitted in the last seconds, and may not be in the watches yet, the leader remembers.
   */
  #alreadyReplaced({ cause, id }: PlanMessage): Reason | undefined {
    if (cause.kind !== 'replacement') return undefined;
    const { claims } = this.#deps.world;
    const standing = [...claims.values()].find((claim) => claim.deletionMs === undefined && this.#deps.world.promiseOf(claim.uid)?.replaces?.nodeUid === cause.nodeUid);
    const remembered = this.#deps.memory.replacedBy(cause.nodeUid, this.#nowMs);
    if (standing === undefined && (remembered === undefined || remembered === id)) return undefined;
    return reason('already-replaced', `${cause.nodeName} has a replacement already: ${standing?.name ?? `plan ${remembered ?? ''}`}`, { node: cause.nodeName, replacement: standing?.name ?? remembered ?? '' });
  }

  #placement(message: PlanMessage, placement: Placement, index: number): JudgedBin {
    const binId = placementId(index);
    const node = this.#ledger.node(placement.nodeUid);
    const pods = this.#podsOf(placement.podUids);
    const requests = sumResources(pods.map((pod) => pod.requests));
    const why = this.#podsOrGroups(message, placement) ?? nodeRetiring(placement, node) ?? (node === undefined ? undefined : nodeFull(requests, node));
    if (why !== undefined || node === undefined) return refused(message, binId, placement, why === undefined ? [] : [why]);
    const violations = this.#check(message, { ...placement, nodeName: node.name, nodeUid: node.uid }, { newNodes: message.plan.newNodes, placements: message.plan.placements.slice(index + 1) });
    if (violations.length > 0) return refused(message, binId, placement, violations);
    const replacement = message.cause.kind === 'replacement';
    this.#deps.memory.touch(placement.topologyGroups, this.#admission, message.id);
    this.#ledger.replaceNode(placement.nodeUid, replacement
      ? { ...node, reserved: addResources(node.reserved, requests) } : { ...node, promisedPods: [...node.promisedPods, ...pods] });
    const untilMs = this.#nowMs + (replacement ? this.#options.replacementPromiseMs : this.#options.promiseMs);
    return {
      kind: 'placement', plan: message, binId, podUids: placement.podUids, placement, holder: this.#holderOf(node),
      promise: this.#promise(message, placement.podUids, requests, untilMs),
    };
  }

  #newNode(message: PlanMessage, bin: NewNode, index: number): JudgedBin {
    const pool = this.#deps.world.pools.one('key', poolKey(bin.pool));
    const types = pool === undefined ? noTypes : typesOfPool(this.#deps.catalog, pool);
    const why = this.#podsOrGroups(message, bin) ?? poolUnusable(pool, poolKey(bin.pool), this.#deps.memory.launchesLastMinute(poolKey(bin.pool), this.#nowMs));
    if (why !== undefined || pool === undefined) return refused(message, bin.id, bin, why === undefined ? [] : [why]);
    const left = this.#narrow(message, bin, index, pool, types);
    if (!left.ok) return refused(message, bin.id, bin, [left.reason]);
    const pods = this.#podsOf(bin.podUids);
    const narrowed = { ...bin, options: left.options };
    const violations = this.#check(message, narrowed, { newNodes: message.plan.newNodes.slice(index + 1), placements: [] });
    if (violations.length > 0) return refused(message, bin.id, bin, violations);
    const claimName = claimNameOf({ poolName: pool.name, admission: this.#admission, planId: message.id, binId: bin.id }, this.#deps.sha256Hex);
    this.#take(message, narrowed, { pool, types, pods, claimName });
    const requests = sumResources(pods.map((pod) => pod.requests));
    return { kind: 'new-node', plan: message, binId: bin.id, podUids: bin.podUids, claimName, pool, bin: narrowed, options: left.options, promise: this.#promise(message, bin.podUids, requests) };
  }

  #podsOrGroups(message: PlanMessage, bin: NewNode | Placement): Reason | undefined {
    const facts = { pod: (uid: string) => this.#deps.world.pods.get(uid), promisedTo: (uid: string) => this.#ledger.promisedTo(uid) };
    return podsNotFree(bin.podUids, message.cause, facts) ?? groupTouched(bin, message, this.#deps.memory.touched);
  }

  #narrow(message: PlanMessage, bin: NewNode, index: number, pool: Pool, types: ReadonlyMap<string, InstanceType>): OptionsLeft {
    const key = poolKey(pool.identity);
    const available = this.#availableNow(bin.options, types);
    if (!available.ok) return available;
    const capped = withinPriceCap(available.options, { ...pool, key });
    if (!capped.ok) return capped;
    const later = message.plan.newNodes.slice(index + 1).filter((other) => poolKey(other.pool) === key);
    const remaining = this.#ledger.remaining(pool);
    const reservedForLater = sumResources(later.map((other) => cheapestUse(other.options, types, Object.keys(remaining))));
    return withinLimits(capped.options, types, { key, remaining, reservedForLater, laterBins: later.length });
  }

  /** Bins that share a list of options share what is left of it: it is looked at once, here and by the checker. */
  #availableNow(options: readonly BinOption[], types: ReadonlyMap<string, InstanceType>): OptionsLeft {
    const known = this.#available.get(options);
    if (known?.types === types) return known.left;
    const left = availableNow(options, types);
    this.#available.set(options, { types, left });
    return left;
  }

  #take(message: PlanMessage, bin: NewNode, as: { readonly pool: Pool; readonly types: ReadonlyMap<string, InstanceType>; readonly pods: readonly Pod[]; readonly claimName: string }): void {
    this.#ledger.use(as.pool, largestUse(bin.options, as.types, Object.keys(as.pool.limits)));
    this.#ledger.addNode(nodeToBe(bin, as, message.cause.kind === 'replacement'));
    this.#deps.memory.launched(poolKey(as.pool.identity), this.#nowMs);
    if (message.cause.kind === 'replacement') this.#deps.memory.replaced(message.cause.nodeUid, message.id, this.#nowMs);
    this.#deps.memory.touch(bin.topologyGroups, this.#admission, message.id);
  }

  #check(message: PlanMessage, bin: NewNode | Placement, beside: Beside): readonly Reason[] {
    const { cause } = message;
    const nodes = cause.kind === 'replacement' ? this.#ledger.nodes.filter((node) => node.uid !== cause.nodeUid) : this.#ledger.nodes;
    // Only what shares a group can matter; and a companion that no longer holds would be refused itself: this bin must do without it.
    const groups = new Set(bin.topologyGroups);
    const meant = (other: NewNode | Placement): boolean => other.topologyGroups.some((group) => groups.has(group)) && this.#podsOrGroups(message, other) === undefined;
    const companions = { newNodes: beside.newNodes.filter(meant), placements: beside.placements.filter(meant) };
    const pods = this.#podsOf([bin, ...companions.placements, ...companions.newNodes].flatMap((each) => each.podUids));
    return this.#deps.check({ bin, pods: cause.kind === 'replacement' ? pods.map(withoutNode) : pods, nodes, beside: companions }).map(brokenConstraint);
  }

  #promise(message: PlanMessage, podUids: readonly string[], requests: Resources, untilMs?: number): PromiseAnnotation {
    const shared = { admission: admissionText(this.#admission), ...(untilMs === undefined ? {} : { untilMs }) };
    if (message.cause.kind === 'pending') return { ...shared, podUids };
    return { ...shared, podUids: [], reserved: requests, replaces: { nodeName: message.cause.nodeName, nodeUid: message.cause.nodeUid } };
  }

  #holderOf(node: ExistingNode): { readonly kind: 'NodeClaim' | 'Node'; readonly name: string; readonly uid: string } {
    const claim = node.claimName === undefined ? undefined : this.#deps.world.claims.one('name', node.claimName);
    if (claim !== undefined && node.state !== 'ready') return { kind: 'NodeClaim', name: claim.name, uid: claim.uid };
    return { kind: 'Node', name: node.name, uid: node.uid };
  }

  #podsOf(uids: readonly string[]): readonly Pod[] { return uids.flatMap((uid) => this.#deps.world.pods.get(uid) ?? []); }
}

type Beside = { readonly newNodes: readonly NewNode[]; readonly placements: readonly Placement[] };
const noTypes: ReadonlyMap<string, InstanceType> = new Map();

const refused = (plan: PlanMessage, binId: string, bin: NewNode | Placement, reasons: readonly Reason[]): RefusedBin =>
  ({ kind: 'refused', plan, binId, podUids: bin.podUids, ...('pool' in bin ? { pool: bin.pool } : {}), reasons });

/** A pod of a replacement, as it will be once its node is gone. */
function withoutNode(pod: Pod): Pod {
  const { nodeName: _left, ...rest } = pod;
  return { ...rest, phase: 'Pending' };
}

const brokenConstraint = (violation: Violation): Reason =>
  reason('constraint-broken', violation.message, { code: violation.code, where: violation.where });

function poolUnusable(pool: Pool | undefined, key: string, launches: number): Reason | undefined {
  if (pool === undefined || pool.deletionMs !== undefined) return reason('pool-deleting', `${key} is gone or being deleted`, {}, { subject: key });
  if (!pool.ready) return reason('pool-not-ready', `${key} is not ready`, {}, { subject: key });
  return launchRate({ key, ...(pool.maxLaunchesPerMinute === undefined ? {} : { maxLaunchesPerMinute: pool.maxLaunchesPerMinute }) }, launches);
}

function cheapestUse(options: readonly BinOption[], types: ReadonlyMap<string, InstanceType>, limited: readonly string[]): Resources {
  const type = options[0] === undefined ? undefined : types.get(options[0].instanceType);
  return type === undefined ? {} : Object.fromEntries(limited.map((name) => [name, amountOf(type, name)]));
}

/** An admitted bin as the bins after it see it: in flight, with what every one of its options has. */
function nodeToBe(bin: NewNode, as: { readonly pool: Pool; readonly types: ReadonlyMap<string, InstanceType>; readonly pods: readonly Pod[]; readonly claimName: string }, replacement: boolean): ExistingNode {
  const options = [...new Set(bin.options.map((option) => option.instanceType))].flatMap((name) => as.types.get(name) ?? []);
  const requirements = requirementsOf(claimRequirements(bin));
  return {
    name: as.claimName, uid: as.claimName, claimName: as.claimName, poolKey: poolKey(as.pool.identity), state: 'in-flight',
    labels: { ...decidedLabels(requirements), ...bin.labels },
    requirements: openRequirements(requirements, bin.labels), taints: bin.taints, cordoned: false,
    capacity: leastOf(options.map((type) => type.capacity)), allocatable: leastOf(options.map((type) => type.allocatable)),
    pods: [], promisedPods: replacement ? [] : as.pods, reserved: replacement ? sumResources(as.pods.map((pod) => pod.requests)) : {},
  };
}
