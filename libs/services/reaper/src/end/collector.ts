import {
  annotations,
  isFromOurClass,
  type NodeClaim,
  nodeClaimOf,
  tags,
  terminationFinalizer,
} from '@dovetail/core-api';
import { instanceIdOf, instanceIdOfProvider, isRegistered } from '@dovetail/core-cluster';
import {
  type Collection,
  type FoundInstance,
  type Ghosts,
  intentIdOf,
  noMemory,
  note,
  planCollection,
  planGhosts,
  suspectedClaims,
} from '@dovetail/core-disruption';
import type { Node } from '@dovetail/core-kube-model';
import { type KubeObject, kubeResources, type StopSignal } from '@dovetail/core-ports';
import {
  aboutClaim,
  backgroundTurnMs,
  claimFacts,
  inParallel,
  type LoopTurn,
  tryTurn,
  Turns,
} from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { deleteClaim } from '../outside/claim-edits.js';
import type { ClusterIdentity } from '../outside/identity.js';
import { readNode } from '../outside/live.js';
import { releaseNode } from '../outside/node-edits.js';
import { countEnded } from '../retire/disruption-counts.js';

const brakeCodes = ['collection-brake', 'cluster-mismatch'] as const;
/** A turn that lasts longer is hung: far over the minutes that all retries of its calls take. */
const collectionTurn: LoopTurn = {
  loop: 'collection',
  msMax: 900_000,
  failure: 'collection-failed',
  what: 'a collection pass failed',
};

/** The last pass, for /debug/state. */
export type LastCollection = { readonly atMs: number; readonly collection: Collection };

/** The instances and intents of unreadable claims, which belong to them all the same. */
type AlsoHeld = { readonly instanceIds: Set<string>; readonly intentIds: Set<string> };

type LiveClaims = { readonly claims: readonly NodeClaim[]; readonly alsoHeld: AlsoHeld };

/**
 * Collects leftovers both ways: instances without a claim, claims and nodes without an instance.
 */
export class Collector {
  readonly #context: ReaperContext;
  readonly #identity: ClusterIdentity;
  #memory = noMemory;
  #ghostsSinceMs: ReadonlyMap<string, number> = new Map();
  #last: LastCollection | undefined;

  constructor(context: ReaperContext, identity: ClusterIdentity) {
    this.#context = context;
    this.#identity = identity;
  }

  last(): LastCollection | undefined {
    return this.#last;
  }

  /** Makes a pass now and then, until stopped. */
  async run(stop: StopSignal): Promise<void> {
    const { deps, cluster, config, clockCheck } = this.#context;
    const { firstPasses, firstIntervalMs, intervalMs } = config.collection;
    let passes = 0;
    while (!stop.aborted) {
      await deps.clock.sleep(passes < firstPasses ? firstIntervalMs : intervalMs, stop);
      if (stop.aborted || !cluster.areSynced('claim', 'node') || !clockCheck.isRight()) continue;
      const turned = await tryTurn(deps, collectionTurn, () => this.#pass(stop));
      if (turned.kind === 'done') passes += 1;
    }
  }

  async #pass(stop: StopSignal): Promise<void> {
    const { deps } = this.#context;
    const { collection, claims } = await this.#plan(stop);
    this.#memory = collection.memory;
    this.#last = { atMs: deps.clock.nowMs(), collection };
    const ghosts = this.#ghosts(claims);
    this.#reportBrakes([...collection.brakes, ...ghosts.brakes]);
    const release = () => this.#releaseNodes(stop);
    const steps: readonly (() => Promise<void>)[] = [
      ...collection.terminate.map((instance) => () => this.#endInstance(instance, stop)),
      ...collection.deleteClaims.map((claim) => () => this.#endClaim(claim)),
      ...ghosts.end.map((claim) => () => this.#endGhost(claim)),
      ...(collection.brakes.length === 0 ? [release] : []),
    ];
    // One that EC2 or the API server refuses must not keep the others from their end.
    await inParallel(steps, 1, async (step) => {
      if (!stop.aborted) await step();
    });
  }

  /** Reads instances, then claims, then by id the instances that the list did not show. */
  async #plan(
    stop: StopSignal,
  ): Promise<Pick<LiveClaims, 'claims'> & { readonly collection: Collection }> {
    const { deps, config, cluster } = this.#context;
    const clusterUid = await this.#identity.liveClusterUid();
    const listed = [{ name: `tag:${tags.clusterName}`, values: [config.clusterName] }];
    const instances = await deps.cloud.instancesByTag(listed);
    const { claims, alsoHeld } = await this.#liveClaims(stop);
    const ready = [...cluster.nodes.values()].filter((node) => node.ready);
    const seen = {
      instances,
      claims,
      readyNodes: new Set(ready.map(({ name }) => name)),
      nowMs: deps.clock.nowMs(),
      limits: config.collection,
    };
    const asked = suspectedClaims(seen).flatMap((claim) => instanceIdOf(claim) ?? []);
    const byId = asked.length === 0 ? [] : await deps.cloud.instancesById(asked);
    const collection = planCollection({
      ...seen,
      alsoHeld,
      stateById: new Map(byId.map(({ id, state }) => [id, state])),
      // No pod is on a node that has not registered yet.
      readyInstances: new Set(
        ready
          .filter(isRegistered)
          .flatMap(({ providerId }) => instanceIdOfProvider(providerId) ?? []),
      ),
      clusterUid,
      memory: this.#memory,
    });
    return { collection, claims };
  }

  /** All claims as they are now, and what those hold that cannot be read. */
  async #liveClaims(stop: StopSignal): Promise<LiveClaims> {
    const { clock, kube } = this.#context.deps;
    const alsoHeld: AlsoHeld = { instanceIds: new Set(), intentIds: new Set() };
    const claims: NodeClaim[] = [];
    const objects = await kube.list(kubeResources.nodeClaims);
    const turns = new Turns(clock, backgroundTurnMs);
    for (const object of objects) {
      await turns.give(stop);
      const claim = nodeClaimOf(object);
      if (claim.ok) claims.push(claim.value);
      else addHeld(alsoHeld, object);
    }
    return { claims, alsoHeld };
  }

  #reportBrakes(brakes: Collection['brakes']): void {
    const { metrics, log } = this.#context.deps;
    for (const code of brakeCodes) {
      const isOn = brakes.some((brake) => brake.code === code);
      metrics.set('dovetail_collection_stopped', isOn ? 1 : 0, { brake: code });
    }
    for (const { code, message, values } of brakes)
      log.error(code, `${message}. Nothing is collected until this is sorted out`, { ...values });
  }

  async #endInstance(instance: FoundInstance, stop: StopSignal): Promise<void> {
    const { deps, instances, decisions } = this.#context;
    const { id, launchedMs } = instance;
    const answer = await instances.terminate(id, stop);
    if (answer.kind === 'later') return;
    if (answer.kind === 'refused') {
      deps.log.warn(
        'collection-refused',
        `EC2 refuses to end ${id}, which belongs to no claim: ${answer.awsCode}: ${answer.message}`,
        { instance: id },
      );
      return;
    }
    deps.metrics.count('dovetail_collected_total', { what: 'instance' });
    const ageSeconds = Math.floor((deps.clock.nowMs() - launchedMs) / 1_000);
    decisions.tell({
      id: `collect/${id}`,
      kind: 'collect',
      instanceId: id,
      summary: `ended ${id}, which belongs to no claim`,
      reasons: [
        note('garbage-collected', 'no NodeClaim has this instance', { instance: id, ageSeconds }),
      ],
    });
  }

  async #endClaim(claim: NodeClaim): Promise<void> {
    const { deps, events, decisions } = this.#context;
    await deleteClaim(deps.kube, claim);
    this.#countClaim(claim);
    events.record({
      about: aboutClaim(claim),
      type: 'Warning',
      reason: 'DisruptionTerminating',
      message: 'Disrupting NodeClaim: its instance is gone',
    });
    decisions.tell({
      ...claimFacts(claim, this.#context.cluster.priceNow(claim)),
      id: `collect/${claim.uid}`,
      kind: 'collect',
      summary: `ended ${claim.name}, whose instance is gone`,
      reasons: [note('garbage-collected', "EC2 does not have the claim's instance any more", {})],
    });
  }

  #countClaim(claim: NodeClaim): void {
    const { deps, cluster } = this.#context;
    deps.metrics.count('dovetail_collected_total', { what: 'claim' });
    countEnded(deps.metrics, cluster.viewOf(claim), { reason: 'garbage_collected' });
  }

  #ghosts(claims: readonly NodeClaim[]): Ghosts {
    const { deps, config, cluster } = this.#context;
    const ghosts = planGhosts({
      claims,
      hasNode: (claim) => cluster.nodeOfClaim(claim) !== undefined,
      nowMs: deps.clock.nowMs(),
      limits: config.collection,
      sinceMs: this.#ghostsSinceMs,
      endedMs: this.#memory.endedMs.claims,
    });
    this.#ghostsSinceMs = ghosts.sinceMs;
    // Claims that end on a guess share one limit, whatever the guess is.
    const endedMs = { ...this.#memory.endedMs, claims: ghosts.endedMs };
    this.#memory = { ...this.#memory, endedMs };
    return ghosts;
  }

  /** Ends a claim without a Node, unless the API server has the Node after all. */
  async #endGhost(claim: NodeClaim): Promise<void> {
    const { deps, events, decisions } = this.#context;
    if ((await readNode(deps.kube, this.#context.cluster, claim)) !== undefined) return;
    await deleteClaim(deps.kube, claim);
    this.#countClaim(claim);
    const message = 'Disrupting NodeClaim: its Node is gone and its instance still runs';
    events.record({
      about: aboutClaim(claim),
      type: 'Warning',
      reason: 'DisruptionTerminating',
      message,
    });
    decisions.tell({
      ...claimFacts(claim, this.#context.cluster.priceNow(claim)),
      id: `collect/${claim.uid}`,
      kind: 'collect',
      summary: `collected ${claim.name}, whose Node is gone`,
      reasons: [note('node-missing', 'the Node is gone and its instance still runs', {})],
    });
  }

  /**
   * Releases nodes of ours that belong to no claim and whose instance is gone: nothing else does.
   * Claims are listed again, because the steps before may have taken minutes.
   */
  async #releaseNodes(stop: StopSignal): Promise<void> {
    const { deps, cluster } = this.#context;
    const over = [...cluster.nodes.values()].filter(isOver);
    if (over.length === 0) return;
    const { claims, alsoHeld } = await this.#liveClaims(stop);
    const names = claims.flatMap((claim) => [claim.nodeName ?? [], instanceIdOf(claim) ?? []]);
    const known = new Set([...alsoHeld.instanceIds, ...names.flat()]);
    const orphans = over.filter((each) => isOrphan(each, known));
    await inParallel(orphans, 1, async (node) => {
      const isGone = await this.#isInstanceGone(node, stop);
      if (stop.aborted || !isGone) return;
      deps.log.info(
        'node-released',
        `Node ${node.name} belongs to no claim and its instance is gone`,
        { node: node.name },
      );
      await releaseNode(deps.kube, node);
    });
  }

  async #isInstanceGone(node: Node, stop: StopSignal): Promise<boolean> {
    const id = instanceIdOfProvider(node.providerId);
    if (id === undefined) return true;
    const state = await this.#context.instances.state(id, stop);
    // EC2 may not show an instance yet; a node that is ready proves that there is one.
    return state === 'terminated' || (state === 'missing' && !node.ready);
  }
}

/** Whether a node is ours, keeps our finalizer, and is over. */
const isOver = (node: Node): boolean =>
  node.finalizers.includes(terminationFinalizer) &&
  isFromOurClass(node) &&
  (node.deletionMs !== undefined || !node.ready);

/** Whether a node belongs to none of these claims (node names and instances). */
function isOrphan({ name, providerId }: Node, known: ReadonlySet<string>): boolean {
  const id = instanceIdOfProvider(providerId);
  return !known.has(name) && (id === undefined || !known.has(id));
}

function addHeld({ instanceIds, intentIds }: AlsoHeld, object: KubeObject): void {
  const { providerID } = (object['status'] ?? {}) as { readonly providerID?: string };
  const held = object.metadata.annotations ?? {};
  for (const id of [held[annotations.instanceId], instanceIdOfProvider(providerID)])
    if (id !== undefined) instanceIds.add(id);
  const intentId = intentIdOf(held[annotations.launchIntent]);
  if (intentId !== undefined) intentIds.add(intentId);
}
