import { annotations, labels, nodePriceOf, parsePromise, renderPromise, taints, terminationFinalizer, type NodeClaim } from '@dovetail/core-api';
import { formatResources, type Node } from '@dovetail/core-kube-model';
import type { Clock, Cloud, Log, Metrics, StopSignal } from '@dovetail/core-ports';
import type { LauncherConfig } from '../config.js';
import type { Catalog } from '../discovery/catalog.js';
import type { Finalizing } from '../finalize/finalizing.js';
import { instanceIdOf, isUnpaired } from '../launch/intent.js';
import { launchedStatus } from '../launch/launched.js';
import { KeyedQueue, type Again } from '../loop/keyed-queue.js';
import type { Decisions } from '../tell/decisions.js';
import { claimSubject, nodeSubject, type KubeEvents } from '../tell/kube-events.js';
import type { Nominations } from '../tell/nominations.js';
import { livePromise } from '../world/promises.js';
import { typesOfClaim } from '../world/catalog-view.js';
import type { World } from '../world/world.js';
import type { Writer } from '../world/writer.js';
import { claimSteps, conditionObjects, conditionOf, isTrue, withCondition, withRoot, type NewCondition } from './conditions.js';
import type { Placing } from './placing.js';
import { isRegistered, registration } from './registering.js';
import { notInitialized } from './steps.js';
import type { Tagging } from './tagging.js';

export type LifecycleDeps = {
  readonly clock: Clock; readonly log: Log; readonly metrics: Metrics; readonly cloud: Cloud; readonly world: World; readonly writer: Writer; readonly catalog: Catalog;
  /** Whether the launch loop works on the claim now. */
  readonly isLaunching: (claim: NodeClaim) => boolean;
  readonly placing: Placing; readonly finalizing: Finalizing; readonly tagging: Tagging; readonly decisions: Decisions; readonly events: KubeEvents; readonly nominations: Nominations;
};

/** Takes each claim from launched to initialised, one step after the other, on what claim and node say now. */
export class Lifecycle {
  readonly #deps: LifecycleDeps;
  readonly #config: LauncherConfig;
  readonly #queue: KeyedQueue;

  constructor(deps: LifecycleDeps, config: LauncherConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#queue = new KeyedQueue(deps.clock);
  }

  /** Something outside the claim that its next step waits for has changed. */
  wake(claimUid: string): void { this.#queue.add(claimUid); }

  async run(stop: StopSignal): Promise<void> {
    const { world, log } = this.#deps;
    const end = world.subscribe((kind, uid) => {
      if (kind === 'claim' && uid !== '') this.#queue.add(uid);
      if (kind !== 'node') return;
      const node = world.nodes.get(uid);
      const claim = node === undefined ? undefined : world.claimOfNode(node);
      if (claim !== undefined && !isTrue(claim.conditions, 'Initialized')) this.#queue.add(claim.uid);
    });
    for (const claim of world.claims.values()) this.#queue.add(claim.uid);
    const { inParallel } = this.#config.lifecycle;
    await this.#queue.run({ concurrency: inParallel, retryMs: 250, retryMaxMs: 30_000 }, (uid) => this.#look(uid), (uid, error, failures) => {
      log.warn('claim-not-reconciled', 'a claim could not be taken a step further, it is looked at again', { claim: world.claims.get(uid)?.name ?? uid, error: String(error), failures });
    }, stop);
    end();
  }

  async #look(uid: string): Promise<Again> {
    const claim = this.#deps.world.claims.get(uid);
    if (claim === undefined) return undefined;
    if (claim.deletionMs !== undefined) return isUnpaired(claim) ? this.#deps.finalizing.finalize(claim) : undefined;
    if (!claim.finalizers.includes(terminationFinalizer)) await this.#deps.writer.changeClaim(claim, (now) => (now.deletionMs === undefined ? { metadata: { finalizers: [...new Set([...now.finalizers, terminationFinalizer])] } } : undefined));
    if (claim.providerId === undefined) return this.#unlaunched(claim);
    const nodes = this.#deps.world.nodes.by('providerId', claim.providerId);
    const [node] = nodes;
    if (nodes.length > 1) return this.#wait(claim, { type: 'Registered', status: 'False', reason: 'MultipleNodesFound', message: `${nodes.length} nodes carry the provider ID ${claim.providerId}` });
    if (node === undefined) return this.#unregistered(claim);
    if (!isTrue(claim.conditions, 'Registered') || !isRegistered(node)) { await this.#register(node, claim); return undefined; }
    this.#deps.tagging.tag(claim, node);
    return this.#initialize(node, claim);
  }

  /** Paired, but its status does not say so: the launcher ended between the two writes. Else it is the launch loop's, until its time is over. */
  async #unlaunched(claim: NodeClaim): Promise<Again> {
    const id = instanceIdOf(claim);
    if (id === undefined) return this.#giveUpAfter(claim, this.#config.lifecycle.launchTimeoutMs, claim.createdMs, 'launch_timeout');
    if (this.#deps.isLaunching(claim)) return { afterMs: 500 };
    const [instance] = await this.#deps.cloud.instancesById([id]);
    if (instance === undefined) return { afterMs: 1_000 };
    const type = typesOfClaim(this.#deps.catalog, this.#deps.world, claim).get(instance.instanceType);
    await this.#deps.writer.changeClaimStatus(claim, (now) => launchedStatus(now, instance, type, this.#deps.clock.nowMs()));
    return undefined;
  }

  async #unregistered(claim: NodeClaim): Promise<Again> {
    if (isTrue(claim.conditions, 'Registered')) return undefined;
    this.#deps.events.tell({ about: claimSubject(claim), type: 'Normal', reason: 'DisruptionBlocked', message: 'Nodeclaim does not have an associated node' });
    const sinceMs = conditionOf(claim.conditions, 'Launched')?.lastTransitionMs ?? claim.createdMs;
    return this.#giveUpAfter(claim, this.#config.lifecycle.registrationTimeoutMs, sinceMs, 'registration_timeout');
  }

  /** A claim that made no progress in time is given up: its pods go back to the planner, its instance to the reaper. */
  async #giveUpAfter(claim: NodeClaim, timeoutMs: number, sinceMs: number, reason: string): Promise<Again> {
    const leftMs = sinceMs + timeoutMs - this.#deps.clock.nowMs();
    if (leftMs > 0) return { afterMs: leftMs };
    const { writer, decisions, events, metrics } = this.#deps;
    const message = `${claim.name} made no progress in ${timeoutMs / 1000} s (${reason}): ${conditionOf(claim.conditions, reason === 'launch_timeout' ? 'Launched' : 'Registered')?.message ?? ''}`;
    metrics.count('karpenter_nodeclaims_disrupted_total', { reason, nodepool: claim.pool.name, capacity_type: claim.labels[labels.capacityType] ?? '' });
    decisions.tell({ id: `launch-failed/${claim.uid}/${reason}`, kind: 'launch-failed', pool: claim.pool, claimName: claim.name, summary: message, ...nodePriceOf(claim),
      reasons: [{ code: reason === 'launch_timeout' ? 'launch-timeout' : 'registration-timeout', message, values: { timeoutMs: String(timeoutMs) } }], objects: [{ kind: 'NodeClaim', name: claim.name, uid: claim.uid }] });
    events.tell({ about: claimSubject(claim), type: 'Warning', reason: reason === 'launch_timeout' ? 'LaunchTimeout' : 'RegistrationTimeout', message });
    await writer.deleteClaim(claim);
    return undefined;
  }

  async #register(node: Node, claim: NodeClaim): Promise<void> {
    const { writer, clock, world, placing, events, nominations, decisions } = this.#deps;
    if (!isRegistered(node) && !node.taints.some((taint) => taint.key === taints.unregistered.key)) {
      events.tell({ about: nodeSubject(node), type: 'Warning', reason: 'UnregisteredTaintMissing', message: `Missing taint prevents registration-related race conditions on Karpenter-managed nodes: ${taints.unregistered.key}` });
    }
    const cordon = placing.bindable(claim).length > 0;
    const registered = await writer.changeNode(node, (now) => registration(now, claim, { cordon, nowMs: clock.nowMs() }));
    if (registered === undefined) return;
    const updated = await this.#setCondition(claim, { type: 'Registered', status: 'True', reason: 'Registered' }, { nodeName: node.name });
    if (updated === undefined) return;
    nominations.tell(livePromise(world, claim.uid, clock.nowMs())?.waiting ?? [], { claimName: claim.name, nodeName: node.name });
    decisions.tell({
      id: `register/${claim.uid}/${node.uid}`, kind: 'register', pool: claim.pool, claimName: claim.name, instanceId: instanceIdOf(claim) ?? '', summary: `${node.name} joined as ${claim.name}`, ...nodePriceOf(claim),
      reasons: [{ code: 'instance-joined', message: `${node.name} is the node of ${claim.providerId ?? ''}`, values: { providerId: claim.providerId ?? '' } }],
      objects: [{ kind: 'NodeClaim', name: claim.name, uid: claim.uid }, { kind: 'Node', name: node.name, uid: node.uid }], facts: { secondsSinceLaunch: this.#secondsSince(claim, 'Launched'), placement: cordon ? 'bind' : 'scheduler' },
    });
  }

  async #initialize(node: Node, claim: NodeClaim): Promise<Again> {
    const placed = await this.#deps.placing.place(node, claim);
    if (isTrue(claim.conditions, 'Initialized')) return this.#endPromise(claim);
    const now = this.#deps.world.nodes.get(node.uid) ?? node;
    const waiting = notInitialized(now, claim);
    if (waiting !== undefined || placed !== 'open') {
      await this.#setCondition(claim, waiting ?? { type: 'Initialized', status: 'Unknown', reason: 'NodeNotReady', message: 'pods are being placed' }, {});
      return placed === 'open' ? undefined : { afterMs: placed.againInMs };
    }
    const { writer, decisions } = this.#deps;
    await writer.changeNode(now, (held) => (held.labels[labels.initialized] === 'true' ? undefined : { metadata: { labels: { [labels.initialized]: 'true' } } }));
    const done = await this.#setCondition(claim, { type: 'Initialized', status: 'True', reason: 'Initialized' }, { capacity: formatResources(now.capacity), allocatable: formatResources(now.allocatable) });
    if (done === undefined) return undefined;
    decisions.tell({
      id: `initialize/${claim.uid}`, kind: 'initialize', pool: claim.pool, claimName: claim.name, instanceId: instanceIdOf(claim) ?? '', summary: `${node.name} is ready for pods`, ...nodePriceOf(claim),
      reasons: [{ code: 'node-initialized', message: `${node.name} is Ready, without startup taints, and has its resources; its pods are placed`, values: {} }],
      objects: [{ kind: 'NodeClaim', name: claim.name, uid: claim.uid }, { kind: 'Node', name: node.name, uid: node.uid }], facts: { secondsSinceLaunch: this.#secondsSince(claim, 'Launched') },
    });
    return this.#endPromise(done);
  }

  /** Once initialised, what is promised ends after a while: pods that have not come by then may go elsewhere. */
  async #endPromise(claim: NodeClaim): Promise<Again> {
    const { world, clock, writer } = this.#deps;
    const live = livePromise(world, claim.uid, clock.nowMs());
    if (live === undefined || live.promise.untilMs !== undefined) return undefined;
    const lasts = live.promise.reserved === undefined ? this.#config.admission.promiseMs : this.#config.admission.replacementPromiseMs;
    await writer.changeClaim(claim, (now) => {
      const promise = parsePromise(now.annotations[annotations.promise]);
      return promise === undefined || promise.untilMs !== undefined ? undefined : { metadata: { annotations: { [annotations.promise]: renderPromise({ ...promise, untilMs: clock.nowMs() + lasts }) } } };
    });
    return undefined;
  }

  async #wait(claim: NodeClaim, condition: NewCondition): Promise<Again> {
    await this.#setCondition(claim, condition, {});
    return { afterMs: 5_000 };
  }

  #setCondition(claim: NodeClaim, condition: NewCondition, fields: Readonly<Record<string, unknown>>): Promise<NodeClaim | undefined> {
    const nowMs = this.#deps.clock.nowMs();
    return this.#deps.writer.changeClaimStatus(claim, (now) => {
      const conditions = withRoot(withCondition(now.conditions, condition, nowMs), claimSteps, nowMs);
      return conditions === now.conditions ? undefined : { status: { ...fields, conditions: conditionObjects(conditions) } };
    });
  }

  #secondsSince(claim: NodeClaim, type: string): string {
    const sinceMs = conditionOf(claim.conditions, type)?.lastTransitionMs ?? claim.createdMs;
    return String(Math.max(0, Math.round((this.#deps.clock.nowMs() - sinceMs) / 1000)));
  }
}
