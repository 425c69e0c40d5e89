import { annotations, labels, nodeClaimOf, tags, terminationFinalizer, type NodeClaim } from '@dovetail/core-api';
import { instanceIdOf, instanceIdOfProvider, intentIdOf, note, planCollection, type Collection, type FoundInstance } from '@dovetail/core-disruption';
import type { Node } from '@dovetail/core-kube-model';
import { kubeResources, type StopSignal } from '@dovetail/core-ports';
import type { Reaping } from '../context.js';
import { deleteClaim } from '../effects/claim-edits.js';
import { aboutClaim } from '../effects/events.js';
import { claimFacts } from '../effects/decisions.js';
import { releaseNode } from '../effects/node-edits.js';
import type { ClusterIdentity } from '../identity.js';

const brakeCodes = ['collection-brake', 'cluster-mismatch'] as const;

/** Collects what belongs to nobody, both ways: instances without a claim, claims and nodes without an instance. */
export class Collector {
  readonly #reaping: Reaping;
  readonly #identity: ClusterIdentity;
  #last: { readonly atMs: number; readonly collection: Collection } | undefined;

  constructor(reaping: Reaping, identity: ClusterIdentity) {
    this.#reaping = reaping;
    this.#identity = identity;
  }

  last(): { readonly atMs: number; readonly collection: Collection } | undefined { return this.#last; }

  async run(stop: StopSignal): Promise<void> {
    const { deps, config } = this.#reaping;
    let passes = 0;
    while (!stop.aborted) {
      await deps.clock.sleep(passes < config.collection.firstPasses ? config.collection.firstIntervalMs : config.collection.intervalMs, stop);
      if (stop.aborted || !this.#reaping.world.synced()) continue;
      try {
        await this.#pass(stop);
        passes += 1;
      } catch (error) {
        deps.metrics.count('dovetail_loop_failures_total', { loop: 'collection' });
        deps.log.warn('collection-failed', `a collection pass failed: ${String(error)}; the next one tries again`);
      }
    }
  }

  async #pass(stop: StopSignal): Promise<void> {
    const { deps, config } = this.#reaping;
    const clusterUid = await this.#identity.liveClusterUid();
    const instances = await deps.cloud.instancesByTag([{ name: `tag:${tags.clusterName}`, values: [config.clusterName] }, { name: `tag:${tags.clusterUid}`, values: ['*'] }]);
    const { claims, alsoHeld } = await this.#liveClaims();
    const readyNodes = new Set([...this.#reaping.world.nodes.values()].filter(({ ready }) => ready).map(({ name }) => name));
    const collection = planCollection({ instances, claims, alsoHeld, readyNodes, clusterUid, nowMs: deps.clock.nowMs(), limits: config.collection });
    this.#last = { atMs: deps.clock.nowMs(), collection };
    this.#tellBrakes(collection);
    for (const instance of collection.terminate) if (!stop.aborted) await this.#endInstance(instance, stop);
    for (const claim of collection.deleteClaims) if (!stop.aborted) await this.#endClaim(claim, stop);
    if (collection.brakes.length === 0) await this.#releaseNodes(claims, alsoHeld.instanceIds, stop);
  }

  /** All claims as they are now. What those hold that cannot be read is theirs all the same. */
  async #liveClaims(): Promise<{ readonly claims: readonly NodeClaim[]; readonly alsoHeld: { readonly instanceIds: Set<string>; readonly intentIds: Set<string> } }> {
    const alsoHeld = { instanceIds: new Set<string>(), intentIds: new Set<string>() };
    const claims = (await this.#reaping.deps.kube.list(kubeResources.nodeClaims)).flatMap((object) => {
      const claim = nodeClaimOf(object);
      if (claim.ok) return [claim.value];
      const { providerID } = (object['status'] ?? {}) as { readonly providerID?: string };
      for (const id of [object.metadata.annotations?.[annotations.instanceId], instanceIdOfProvider(providerID)]) if (id !== undefined) alsoHeld.instanceIds.add(id);
      const intent = intentIdOf(object.metadata.annotations?.[annotations.launchIntent]);
      if (intent !== undefined) alsoHeld.intentIds.add(intent);
      return [];
    });
    return { claims, alsoHeld };
  }

  #tellBrakes({ brakes }: Collection): void {
    const { deps } = this.#reaping;
    for (const code of brakeCodes) deps.metrics.set('dovetail_collection_stopped', brakes.some((brake) => brake.code === code) ? 1 : 0, { brake: code });
    for (const brake of brakes) deps.log.error(brake.code, `${brake.message}. Nothing is collected until this is sorted out`, { ...brake.values });
  }

  async #endInstance(instance: FoundInstance, stop: StopSignal): Promise<void> {
    const { deps, instances, decisions } = this.#reaping;
    const answer = await instances.terminate(instance.id, stop);
    if (answer.kind === 'later') return;
    if (answer.kind === 'refused') {
      deps.log.warn('collection-refused', `EC2 refuses to end ${instance.id}, which belongs to no claim: ${answer.awsCode}: ${answer.message}`, { instance: instance.id });
      return;
    }
    deps.metrics.count('dovetail_collected_total', { what: 'instance' });
    decisions.tell({
      id: `collect/${instance.id}`, kind: 'collect', instanceId: instance.id, objects: [], summary: `${instance.id} belongs to no claim and is ended`,
      reasons: [note('garbage-collected', 'no NodeClaim has this instance', { instance: instance.id, ageSeconds: Math.floor((deps.clock.nowMs() - instance.launchedMs) / 1000) })],
    });
  }

  async #endClaim(claim: NodeClaim, stop: StopSignal): Promise<void> {
    const { deps, events, decisions } = this.#reaping;
    if (stop.aborted) return;
    await deleteClaim(deps.kube, claim);
    deps.metrics.count('dovetail_collected_total', { what: 'claim' });
    deps.metrics.count('karpenter_nodeclaims_disrupted_total', { reason: 'garbage_collected', nodepool: claim.pool.name, capacity_type: claim.labels[labels.capacityType] ?? '' });
    events.write({ about: aboutClaim(claim), type: 'Warning', reason: 'DisruptionTerminating', message: 'Disrupting NodeClaim: its instance is gone' });
    decisions.tell({ ...claimFacts(claim), id: `collect/${claim.uid}`, kind: 'collect', summary: `${claim.name} lost its instance and is ended`, reasons: [note('garbage-collected', 'EC2 does not have the claim\'s instance any more', {})] });
  }

  /** Nodes that carry our finalizer and belong to no claim: when their instance is gone too, nothing else would ever let them go. */
  async #releaseNodes(claims: readonly NodeClaim[], alsoHeld: ReadonlySet<string>, stop: StopSignal): Promise<void> {
    const { deps, world, instances } = this.#reaping;
    const known = new Set([...alsoHeld, ...claims.flatMap((claim) => [claim.nodeName, instanceIdOf(claim)].filter((text) => text !== undefined))]);
    const isOrphan = (node: Node): boolean => node.finalizers.includes(terminationFinalizer) && !known.has(node.name) && !known.has(instanceIdOfProvider(node.providerId) ?? '')
      && (node.deletionMs !== undefined || !node.ready);
    for (const node of [...world.nodes.values()].filter(isOrphan)) {
      const id = instanceIdOfProvider(node.providerId);
      const state = id === undefined ? 'never-launched' : await instances.state(id, stop);
      if (stop.aborted || (state !== 'terminated' && state !== 'missing' && state !== 'never-launched')) continue;
      if (node.ready && state === 'missing') continue;
      deps.log.info('node-released', `Node ${node.name} belongs to no claim and its instance is gone`, { node: node.name });
      await releaseNode(deps.kube, node);
    }
  }
}
