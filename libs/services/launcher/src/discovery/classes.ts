import { type Channel, dropCatalogParts, publishClassCatalog } from '@dovetail/contracts';
import { hashedWithBundle, type NodeClass, type NodeClassStatus } from '@dovetail/core-api';
import { classKey, type Cluster, type ClusterChange } from '@dovetail/core-cluster';
import { BusError, messageOf, type StopSignal } from '@dovetail/core-ports';
import {
  type Again,
  changeLive,
  Gate,
  isTrue,
  type NewCondition,
  type StatusWriter,
  Turns,
  withCondition,
  withoutFinalizer,
  withRoot,
  WorkQueue,
} from '@dovetail/service-kit';

import type { LauncherConfig } from '../config.js';
import type { LauncherDeps } from '../deps.js';
import type { ClassCatalog } from './class-catalog.js';
import { bundleOf, classFinalizer, keepMetadata } from './class-metadata.js';
import { foundFields, objectOf } from './class-object.js';
import type { ClusterFacts } from './cluster-facts.js';
import { reportFindings } from './findings-report.js';
import { FormerProfiles } from './former-profiles.js';
import type { Knowledge } from './knowledge.js';
import { reportLearnt } from './learnt-report.js';
import { type ClassPart, classSteps, resolveClass, type ResolvedClass } from './resolve-class.js';
import { StoredParts } from './stored-parts.js';

/** The ports and parts that `Classes` works with. */
export type ClassesDeps = Pick<
  LauncherDeps,
  'kube' | 'cloud' | 'clock' | 'hash' | 'log' | 'metrics' | 'userData' | 'vitals'
> & {
  readonly cluster: Cluster;
  readonly catalog: ClassCatalog;
  readonly knowledge: Knowledge;
  readonly status: StatusWriter;
  readonly channel: Channel;
  readonly generation: () => string;
  /** Called when a class becomes ready or stops being ready. */
  readonly onChange: (key: string) => void;
};

/** The last result, the spec and Kubernetes version it is for, and when each part was asked for. */
type Known = ResolvedClass & {
  readonly made: string;
  readonly askedMs: ReadonlyMap<ClassPart, number>;
};

/** IAM's rate limits are low and profiles change rarely; Karpenter keeps them for as long. */
const profileRefreshMs = 15 * 60_000;

/** Looks again for a class' last claim; a claim's deletion wakes it sooner. */
const waitingForClaimsMs = 10_000;
/** Nodes of a launch become ready one after the other; their class is looked at once for many. */
const learnMs = 2_000;

/**
 * A look waits for AWS nearly all of its time, and the calls to AWS are paced for the account.
 * Fewer looks at once would let slow classes hold up the others.
 */
const looksMax = 1_000;
/** A catalog of a region's types is some 230 kB, and its encoding keeps the loop busy. */
const publishesMax = 4;

/** Keeps the status and the catalog of each class equal to AWS, each at its own pace. */
export class Classes {
  readonly #deps: ClassesDeps;
  readonly #config: LauncherConfig;
  readonly #queue: WorkQueue;
  readonly #publishing = new Gate(publishesMax);
  readonly #profiles: FormerProfiles;
  /** The parts of catalogs on the stream, as far as they have been read. */
  readonly stored = new StoredParts();
  /** By UID. */
  readonly #known = new Map<string, Known>();
  /** The revision that was published last, by UID. */
  readonly #published = new Map<string, string>();
  /** Classes whose catalog was published at least once. */
  readonly #everPublished = new Set<string>();
  /** Since when classes are not usable, and with which content, by UID. */
  readonly #broken = new Map<string, { readonly generation: number; readonly sinceMs: number }>();
  /** `classKey` by UID, for classes that are gone. */
  readonly #keys = new Map<string, string>();

  constructor(deps: ClassesDeps, config: LauncherConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#profiles = new FormerProfiles(deps);
    this.#queue = new WorkQueue({
      clock: deps.clock,
      concurrency: looksMax,
      // Quick after a hiccup; the pause doubles up to that of a failed discovery.
      retryMs: 1_000,
      retryMaxMs: config.discovery.retryMs,
      watch: { vitals: deps.vitals, name: 'classes' },
      onError: (uid, error, failures) => this.#report(uid, error, failures),
    });
  }

  #report(uid: string, error: unknown, failures: number): void {
    const { log, metrics } = this.#deps;
    if (error instanceof BusError && (error.code === 'full' || error.code === 'too-large')) {
      metrics.count('dovetail_catalog_refused_total', { code: error.code });
      log.error(
        'catalog-refused',
        `the bus has no room for the catalog of a node class: ${messageOf(error)}; delete classes that are not used, or the stream`,
        { uid, code: error.code },
      );
      return;
    }
    log.warn(
      'class-not-reconciled',
      `reconciling a node class failed: ${messageOf(error)}; trying again`,
      { uid, failures },
    );
  }

  /** Why the class is unusable; undefined when it is usable or not known yet. */
  problemOf(uid: string): NewCondition | undefined {
    return this.#known.get(uid)?.conditions.find((condition) => condition.status === 'False');
  }

  /** Whether solvers have the class' catalog; before, they cannot plan with it. */
  isPublished(uid: string): boolean {
    return this.#everPublished.has(uid);
  }

  async run(stop: StopSignal): Promise<void> {
    const { cluster, knowledge } = this.#deps;
    const all = (): void => {
      for (const row of cluster.nodeClasses.values()) this.#queue.add(row.uid);
    };
    // A class that is being deleted waits for its last claim to go.
    const leaving = (): void => {
      for (const row of cluster.nodeClasses.values())
        if (row.deletionMs !== undefined) this.#queue.add(row.uid);
    };
    const ends = [
      cluster.subscribe(({ kind, uid }) => {
        if (kind === 'nodeclass' && uid !== '') this.#queue.add(uid);
        if (kind === 'claim' && cluster.claims.get(uid) === undefined) leaving();
      }),
      cluster.subscribe((change) => this.#learnFrom(change)),
      knowledge.subscribe(all),
    ];
    all();
    await this.#queue.run((uid) => this.#look(uid), stop);
    for (const end of ends) end();
  }

  /** A node that is initialized shows what its type holds. */
  #learnFrom(change: ClusterChange): void {
    if (change.kind !== 'claim' || change.after === undefined) return;
    const { before, after } = change;
    if (!isTrue(after.conditions, 'Initialized')) return;
    if (before !== undefined && isTrue(before.conditions, 'Initialized')) return;
    const row = this.#deps.cluster.nodeClasses.one('key', classKey(after.classRef));
    if (row !== undefined) this.#queue.addAfter(row.uid, learnMs);
  }

  /** Publishes all catalogs again after the stream was lost. */
  republish(): void {
    this.#published.clear();
    for (const row of this.#deps.cluster.nodeClasses.values()) this.#queue.add(row.uid);
  }

  /** Looks at classes that are gone and still have parts on the stream. */
  sweep(): void {
    for (const uid of this.stored.classes())
      if (this.#deps.cluster.nodeClasses.get(uid) === undefined) this.#queue.add(uid);
  }

  async #look(uid: string): Promise<Again> {
    const { cluster, knowledge, catalog, onChange } = this.#deps;
    const row = cluster.nodeClasses.get(uid);
    if (row === undefined) {
      this.#forget(uid);
      await this.#dropParts(uid);
      return undefined;
    }
    this.#keys.set(uid, classKey(row.ref));
    if (row.deletionMs !== undefined) return this.#finalize(row);
    const { cluster: facts, region } = knowledge;
    if (facts === undefined || region === undefined) return { afterMs: 1_000 };
    const resolved = await this.#resolve(row, facts);
    const ready =
      resolved.conditions.every((condition) => condition.status !== 'False') &&
      resolved.status.subnets.length > 0 &&
      resolved.status.amis.length > 0;
    const before = catalog.discovered(classKey(row.ref))?.nodeClass.ready;
    const hashed = hashedWithBundle(row, bundleOf(this.#config, facts));
    const nodeClass = { ...hashed, status: resolved.status, ready };
    await catalog.update({ ...resolved, nodeClass }, region, new Turns(this.#deps.clock));
    for (const learnt of catalog.learn(classKey(row.ref))) reportLearnt(this.#deps, learnt);
    await keepMetadata(this.#deps.kube, hashed);
    await this.#publishing.pass(() => this.#publish(row));
    await this.#writeStatus(row, resolved.status, resolved.conditions);
    if (before !== ready) onChange(classKey(row.ref));
    // IAM is out of reach of an isolated VPC.
    if (!this.#config.isolatedVpc)
      await this.#profiles.sweep(row, { region: this.#config.region, cluster: facts });
    return { afterMs: this.#againMs(row, ready) };
  }

  /**
   * A broken class is looked at soon, then less often, and at last as often as a usable one: what
   * it selects may appear at any time.
   */
  #againMs({ uid, generation }: NodeClass, ready: boolean): number {
    const { subnetRefreshMs, retryMs } = this.#config.discovery;
    const held = this.#broken.get(uid);
    if (ready) this.#broken.delete(uid);
    if (ready) return subnetRefreshMs;
    const nowMs = this.#deps.clock.nowMs();
    const sinceMs = held?.generation === generation ? held.sinceMs : nowMs;
    this.#broken.set(uid, { generation, sinceMs });
    return Math.min(subnetRefreshMs, Math.max(retryMs, nowMs - sinceMs));
  }

  async #resolve(row: NodeClass, facts: ClusterFacts): Promise<ResolvedClass> {
    const { discovery } = this.#config;
    const nowMs = this.#deps.clock.nowMs();
    const made = `${row.generation} ${facts.kubernetesVersion}`;
    const held = this.#known.get(row.uid);
    const known =
      held?.made === made
        ? held
        : {
            status: row.status,
            subnets: [],
            conditions: [],
            imageParameters: new Map<string, string>(),
            askedMs: new Map<ClassPart, number>(),
          };
    const everyMs = {
      subnets: discovery.subnetRefreshMs,
      groups: discovery.securityGroupRefreshMs,
      images: discovery.imageRefreshMs,
      profile: profileRefreshMs,
    };
    const askedMs = new Map(known.askedMs);
    const due = (part: ClassPart): boolean => {
      // A second early counts as due, because looks are as far apart as the shortest of these
      // times.
      if (nowMs - (askedMs.get(part) ?? -Infinity) < everyMs[part] - 1_000) return false;
      askedMs.set(part, nowMs);
      return true;
    };
    const resolved = await resolveClass(
      this.#deps,
      row,
      { ...known, due },
      { ...this.#config, cluster: facts },
    );
    reportFindings(this.#deps.log, row, held?.status, resolved.status);
    this.#known.set(row.uid, { ...resolved, made, askedMs });
    return resolved;
  }

  async #publish(row: NodeClass): Promise<void> {
    const published = this.#deps.catalog.published(classKey(row.ref));
    if (published === undefined || this.#published.get(row.uid) === published.revision) return;
    await publishClassCatalog(
      this.#deps.channel,
      { classUid: row.uid, ...published },
      { generation: this.#deps.generation(), stored: this.stored.of(row.uid) },
    );
    this.#published.set(row.uid, published.revision);
    this.#everPublished.add(row.uid);
    this.#deps.log.info('catalog-published', `the catalog of ${classKey(row.ref)} was published`, {
      types: published.instanceTypes.length,
      revision: published.revision,
    });
  }

  /** Drops the catalog of a class that is gone, so that stream and solvers forget it. */
  async #dropParts(uid: string): Promise<void> {
    const { cluster, channel, generation } = this.#deps;
    const parts = [...this.stored.of(uid)];
    // Before the first lists of classes, and of Provisioners with theirs, none would seem to exist.
    if (parts.length === 0 || !cluster.areSynced('nodeclass', 'pool')) return;
    await dropCatalogParts(channel, uid, parts, { generation: generation() });
  }

  async #writeStatus(
    row: NodeClass,
    status: NodeClassStatus,
    conditions: readonly NewCondition[],
  ): Promise<void> {
    const found = foundFields(status);
    const inline = row.ref.kind === 'InlineProvider';
    await this.#deps.status.write(objectOf(row), {
      fields: inline ? { provider: found } : found,
      // The conditions of a Provisioner are its pool's to write.
      conditions: (held, nowMs) =>
        inline
          ? held
          : withRoot(
              conditions.reduce((set, condition) => withCondition(set, condition, nowMs), held),
              classSteps,
              nowMs,
            ),
    });
  }

  /**
   * Finishes the deletion of a class. Once its last claim is gone, this deletes the profiles that
   * were made for it and drops the finalizer. Its launch templates are swept as idle.
   */
  async #finalize(row: NodeClass): Promise<Again> {
    const { cluster, knowledge, kube, catalog, onChange } = this.#deps;
    catalog.forget(classKey(row.ref));
    onChange(classKey(row.ref));
    if (row.ref.kind !== 'EC2NodeClass') return undefined;
    if (cluster.claims.by('class', classKey(row.ref)).length > 0)
      return { afterMs: waitingForClaimsMs };
    if (knowledge.cluster === undefined) return { afterMs: 1_000 };
    if (row.role !== undefined || !this.#config.isolatedVpc)
      await this.#profiles.end(row, { region: this.#config.region, cluster: knowledge.cluster });
    await changeLive(kube, objectOf(row), ({ metadata }) =>
      withoutFinalizer(metadata, classFinalizer),
    );
    return undefined;
  }

  #forget(uid: string): void {
    const key = this.#keys.get(uid);
    this.#profiles.forget(uid);
    if (this.#deps.cluster.pools.get(uid) === undefined) this.#deps.status.forget(uid);
    for (const held of [
      this.#known,
      this.#published,
      this.#everPublished,
      this.#broken,
      this.#keys,
    ])
      held.delete(uid);
    if (key === undefined || this.#deps.cluster.nodeClasses.one('key', key) !== undefined) return;
    this.#deps.catalog.forget(key);
    this.#deps.onChange(key);
  }
}
