import { publishClassCatalog, type Channel } from '@dovetail/contracts';
import type { NodeClassStatus } from '@dovetail/core-api';
import { amiStatusOf } from '@dovetail/core-ec2-model';
import { KubeError, kubeResources, type KubeApi, type KubeResource, type StopSignal } from '@dovetail/core-ports';
import type { LauncherConfig } from '../config.js';
import type { LauncherDeps } from '../deps.js';
import { withCondition, withRoot, type NewCondition } from '../lifecycle/conditions.js';
import { KeyedQueue, type Again } from '../loop/keyed-queue.js';
import type { StatusWriter } from '../world/status-writer.js';
import { classKey, type NodeClassRow, type World } from '../world/world.js';
import type { Catalog } from './catalog.js';
import type { ClusterFacts, Knowledge } from './knowledge.js';
import { classSteps, profileNameOf, resolveClass, type ClassPart, type ResolvedClass } from './resolve.js';

export type ClassesDeps = Pick<LauncherDeps, 'kube' | 'cloud' | 'clock' | 'hash' | 'log' | 'metrics' | 'userData'> & {
  readonly world: World;
  readonly catalog: Catalog;
  readonly knowledge: Knowledge;
  readonly status: StatusWriter;
  readonly channel: Channel;
  readonly generation: () => string;
  /** A class became ready, or stopped being so: pools follow. */
  readonly onChange: (key: string) => void;
};

/** What was found last, from which spec and for which Kubernetes version, and when each part was asked for. */
type Known = ResolvedClass & { readonly made: string; readonly askedMs: ReadonlyMap<ClassPart, number> };

/** IAM's limits are low and profiles change rarely (Karpenter's time). */
const profileRefreshMs = 15 * 60_000;

/** On an EC2NodeClass: it does not disappear before what was made for it. */
export const classFinalizer = 'karpenter.k8s.aws/termination';
const waitingForClaimsMs = 10_000;
const resourceOf = (row: NodeClassRow): KubeResource =>
  row.ref.kind === 'EC2NodeClass' ? kubeResources.ec2NodeClasses : row.ref.kind === 'AWSNodeTemplate' ? kubeResources.awsNodeTemplates : kubeResources.provisioners;

/** Keeps each class' status and catalog equal to what AWS has, one class at a time, each at its own pace. */
export class Classes {
  readonly #deps: ClassesDeps;
  readonly #config: LauncherConfig;
  readonly #queue: KeyedQueue;
  readonly #known = new Map<string, Known>();
  readonly #published = new Map<string, string>();
  /** Classes whose catalog solvers have been told once. */
  readonly #told = new Set<string>();
  readonly #keys = new Map<string, string>();

  constructor(deps: ClassesDeps, config: LauncherConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#queue = new KeyedQueue(deps.clock);
  }

  /** Why the class cannot be used now; undefined when it can, or is not known yet. */
  problemOf(uid: string): NewCondition | undefined { return this.#known.get(uid)?.conditions.find((condition) => condition.status === 'False'); }

  /** Whether solvers know what the class can boot: before that nobody can plan with it. */
  isTold(uid: string): boolean { return this.#told.has(uid); }

  async run(stop: StopSignal): Promise<void> {
    const { world, knowledge, log } = this.#deps;
    const all = (): void => { for (const row of world.nodeClasses.values()) this.#queue.add(row.uid); };
    // A class that is being deleted waits for its last claim to go.
    const leaving = (): void => { for (const row of world.nodeClasses.values()) if (row.deletionMs !== undefined) this.#queue.add(row.uid); };
    const ends = [
      world.subscribe((kind, uid) => {
        if (kind === 'nodeclass' && uid !== '') this.#queue.add(uid);
        if (kind === 'claim' && world.claims.get(uid) === undefined) leaving();
      }),
      knowledge.subscribe(all),
    ];
    all();
    await this.#queue.run({ concurrency: 4, retryMs: 1_000, retryMaxMs: this.#config.discovery.retryMs }, (uid) => this.#look(uid), (uid, error, failures) => {
      log.warn('class-not-reconciled', 'a node class could not be reconciled, it is looked at again', { uid, error: String(error), failures });
    }, stop);
    for (const end of ends) end();
  }

  /** Publishes all catalogs again, for a stream that was lost. */
  republish(): void {
    this.#published.clear();
    for (const row of this.#deps.world.nodeClasses.values()) this.#queue.add(row.uid);
  }

  async #look(uid: string): Promise<Again> {
    const { world, knowledge, catalog, onChange } = this.#deps;
    const row = world.nodeClasses.get(uid);
    if (row === undefined) { this.#forget(uid); return undefined; }
    this.#keys.set(uid, classKey(row.ref));
    if (row.deletionMs !== undefined) return this.#finalize(row);
    const { cluster, region } = knowledge;
    if (cluster === undefined || region === undefined) return { afterMs: 1_000 };
    const resolved = await this.#resolve(row, cluster);
    const ready = resolved.conditions.every((condition) => condition.status !== 'False') && resolved.status.subnets.length > 0 && resolved.status.amis.length > 0;
    const before = catalog.discovered(classKey(row.ref))?.nodeClass.ready;
    catalog.update({ ...row, status: resolved.status, ready }, resolved, region);
    await this.#keepFinalizer(row);
    await this.#publish(row);
    await this.#writeStatus(row, resolved.status, resolved.conditions);
    if (before !== ready) onChange(classKey(row.ref));
    return { afterMs: ready ? this.#config.discovery.subnetRefreshMs : this.#config.discovery.retryMs };
  }

  async #resolve(row: NodeClassRow, cluster: ClusterFacts): Promise<ResolvedClass> {
    const { discovery, region, defaultInstanceProfile } = this.#config;
    const nowMs = this.#deps.clock.nowMs();
    const made = `${row.generation} ${cluster.kubernetesVersion}`;
    const held = this.#known.get(row.uid);
    const known = held?.made === made ? held : { status: row.status, subnets: [], conditions: [], imageParameters: new Map<string, string>(), askedMs: new Map<ClassPart, number>() };
    const everyMs = { subnets: discovery.subnetRefreshMs, groups: discovery.securityGroupRefreshMs, images: discovery.imageRefreshMs, profile: profileRefreshMs };
    const askedMs = new Map(known.askedMs);
    const due = (part: ClassPart): boolean => {
      // A little early counts as due: the looks are as far apart as the shortest of these times.
      if (nowMs - (askedMs.get(part) ?? -Infinity) < everyMs[part] - 1_000) return false;
      askedMs.set(part, nowMs);
      return true;
    };
    const resolved = await resolveClass(this.#deps, row, { ...known, due }, { region, cluster, ...(defaultInstanceProfile === undefined ? {} : { defaultInstanceProfile }) });
    this.#known.set(row.uid, { ...resolved, made, askedMs });
    return resolved;
  }

  async #publish(row: NodeClassRow): Promise<void> {
    const published = this.#deps.catalog.published(classKey(row.ref));
    if (published === undefined || this.#published.get(row.uid) === published.revision) return;
    await publishClassCatalog(this.#deps.channel, { classUid: row.uid, ...published }, { generation: this.#deps.generation() });
    this.#published.set(row.uid, published.revision);
    this.#told.add(row.uid);
    this.#deps.log.info('catalog-published', `what ${classKey(row.ref)} can boot was published`, { types: published.instanceTypes.length, revision: published.revision });
  }

  async #writeStatus(row: NodeClassRow, status: NodeClassStatus, conditions: readonly NewCondition[]): Promise<void> {
    const found = {
      subnets: status.subnets.map(({ id, zone, zoneId }) => ({ id, zone, ...(zoneId === undefined ? {} : { zoneID: zoneId }) })),
      securityGroups: status.securityGroups.map(({ id, name }) => ({ id, ...(name === undefined ? {} : { name }) })),
      amis: amiStatusOf(status.amis),
      ...(status.instanceProfile === undefined ? {} : { instanceProfile: status.instanceProfile }),
    };
    const inline = row.ref.kind === 'InlineProvider';
    await this.#deps.status.write(resourceOf(row), row, {
      fields: inline ? { provider: found } : found,
      // The conditions of a Provisioner are its pool's to write.
      conditions: (held, nowMs) => (inline ? held : withRoot(conditions.reduce((set, condition) => withCondition(set, condition, nowMs), held), classSteps, nowMs)),
    });
  }

  async #keepFinalizer(row: NodeClassRow): Promise<void> {
    if (row.ref.kind === 'EC2NodeClass') await changeFinalizers(this.#deps.kube, row, (held) => (held.includes(classFinalizer) ? held : [...held, classFinalizer]));
  }

  /** A class that is being deleted waits for its claims, then takes along the profile that was made for it; templates follow by themselves. */
  async #finalize(row: NodeClassRow): Promise<Again> {
    const { world, cloud, knowledge, hash, kube, catalog, onChange } = this.#deps;
    catalog.forget(classKey(row.ref));
    onChange(classKey(row.ref));
    if (row.ref.kind !== 'EC2NodeClass') return undefined;
    if (world.claims.by('class', classKey(row.ref)).length > 0) return { afterMs: waitingForClaimsMs };
    if (knowledge.cluster === undefined) return { afterMs: 1_000 };
    if (row.role !== undefined) await cloud.deleteInstanceProfile(profileNameOf(row, { region: this.#config.region, cluster: knowledge.cluster }, hash));
    await changeFinalizers(kube, row, (held) => held.filter((each) => each !== classFinalizer));
    return undefined;
  }

  #forget(uid: string): void {
    const key = this.#keys.get(uid);
    for (const held of [this.#known, this.#published, this.#told, this.#keys]) held.delete(uid);
    if (key === undefined || this.#deps.world.nodeClasses.one('key', key) !== undefined) return;
    this.#deps.catalog.forget(key);
    this.#deps.onChange(key);
  }
}

async function changeFinalizers(kube: KubeApi, row: NodeClassRow, change: (held: readonly string[]) => readonly string[]): Promise<void> {
  const ref = { resource: resourceOf(row), name: row.name };
  const now = await kube.get(ref);
  if (now === undefined || now.metadata.uid !== row.uid) return;
  const held = now.metadata.finalizers ?? [];
  const wanted = change(held);
  if (wanted === held || (wanted.length === held.length && wanted.every((each, index) => each === held[index]))) return;
  try {
    await kube.patch(ref, { type: 'merge', body: { metadata: { resourceVersion: now.metadata.resourceVersion, finalizers: wanted } } });
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== 'not-found') throw error;
  }
}
