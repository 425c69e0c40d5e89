import { awsNodeTemplateOf, ec2NodeClassOf, inlineProviderOf, nodeClaimOf, nodePoolOf, provisionerOf, type KubernetesVersion } from '@dovetail/core-api';
import { csiNodeOf, daemonSetOf, namespaceOf, nodeOf, podOf, pvcOf, pvOf, storageClassOf, type Parsed, type ParseFailure } from '@dovetail/core-kube-model';
import { kubeResources, type Clock, type KubeApi, type KubeObject, type KubeResource, type Log, type Metrics, type StopSignal } from '@dovetail/core-ports';
import { nodeClassRow, poolRow, type World, type WorldKind, type WorldValue } from './world.js';

export type WatchDeps = { readonly kube: KubeApi; readonly clock: Clock; readonly log: Log; readonly metrics: Metrics };

type Put = (world: World, object: KubeObject) => ParseFailure | undefined;
type Source = { readonly resource: KubeResource; readonly kinds: readonly WorldKind[]; readonly put: Put; readonly optional: boolean };

const put = <K extends WorldKind>(kind: K, parse: (raw: unknown) => Parsed<WorldValue[K]>): Put => (world, object) => {
  const read = parse(object);
  if (!read.ok) return read;
  world.set(kind, read.value);
  return undefined;
};

/** Everything that is watched. Optional resources are those of APIs that a cluster need not serve. */
export function watchSources(kubernetes: KubernetesVersion): readonly Source[] {
  const plain = <K extends WorldKind>(kind: K, resource: KubeResource, parse: (raw: unknown) => Parsed<WorldValue[K]>, optional = false): Source =>
    ({ resource, kinds: [kind], put: put(kind, parse), optional });
  return [
    plain('pod', kubeResources.pods, podOf), plain('node', kubeResources.nodes, nodeOf), plain('claim', kubeResources.nodeClaims, nodeClaimOf),
    plain('daemonset', kubeResources.daemonSets, daemonSetOf), plain('namespace', kubeResources.namespaces, namespaceOf),
    plain('pv', kubeResources.persistentVolumes, pvOf), plain('pvc', kubeResources.persistentVolumeClaims, pvcOf),
    plain('storageclass', kubeResources.storageClasses, storageClassOf), plain('csinode', kubeResources.csiNodes, csiNodeOf),
    plain('pool', kubeResources.nodePools, (raw) => rowOf(nodePoolOf(raw), poolRow)),
    plain('nodeclass', kubeResources.ec2NodeClasses, (raw) => rowOf(ec2NodeClassOf(raw), nodeClassRow)),
    plain('nodeclass', kubeResources.awsNodeTemplates, (raw) => rowOf(awsNodeTemplateOf(raw, kubernetes), nodeClassRow), true),
    { resource: kubeResources.provisioners, kinds: ['pool', 'nodeclass'], put: putProvisioner(kubernetes), optional: true },
  ];
}

const rowOf = <T, R>(read: Parsed<T>, row: (value: T) => R): Parsed<R> => (read.ok ? { ok: true, value: row(read.value) } : read);

/** A Provisioner is a pool and, with an inline provider, its class as well. */
const putProvisioner = (kubernetes: KubernetesVersion): Put => (world, object) => {
  const pool = provisionerOf(object);
  if (!pool.ok) return pool;
  const inline = inlineProviderOf(object, kubernetes);
  if (!inline.ok) return inline;
  if (inline.value === undefined) world.forget('nodeclass', pool.value.uid);
  else world.set('nodeclass', nodeClassRow(inline.value));
  world.set('pool', poolRow(pool.value));
  return undefined;
};

const absentMs = 30_000;
const missingMs = 2_000;

/** Keeps the world equal to the cluster until `stop`. An object that cannot be read is told of by name and field, and counts as not there. */
export async function watchWorld(deps: WatchDeps, world: World, kubernetes: KubernetesVersion, stop: StopSignal): Promise<void> {
  const sources = watchSources(kubernetes);
  const waiting = new Map(worldSources(sources));
  const synced = (source: Source): void => {
    for (const kind of source.kinds) {
      waiting.get(kind)?.delete(source);
      if (waiting.get(kind)?.size === 0) world.markSynced(kind);
    }
  };
  await Promise.all(sources.map((source) => watchSource(deps, world, source, () => synced(source), stop)));
}

function worldSources(sources: readonly Source[]): readonly (readonly [WorldKind, Set<Source>])[] {
  const kinds = new Set(sources.flatMap((source) => source.kinds));
  return [...kinds].map((kind) => [kind, new Set(sources.filter((source) => source.kinds.includes(kind)))]);
}

async function watchSource(deps: WatchDeps, world: World, source: Source, synced: () => void, stop: StopSignal): Promise<void> {
  await waitUntilServed(deps, source, synced, stop);
  const project = (object: KubeObject): KubeObject => object;
  while (!stop.aborted) {
    try {
      for await (const event of deps.kube.watch({ resource: source.resource, project }, stop)) {
        if (event.kind === 'synced') synced();
        else if (event.kind === 'set') take(deps, world, source, event.value);
        else drop(world, source, event.uid);
      }
    } catch (error) {
      deps.log.warn('watch-failed', `watching ${source.resource.plural} failed, it is begun again`, { resource: source.resource.plural, error: String(error) });
    }
    await deps.clock.sleep(1_000, stop);
  }
}

/** An optional API that is not installed holds nothing; any other is missed by name. Either is asked for again, since it may be installed later. */
async function waitUntilServed(deps: WatchDeps, source: Source, synced: () => void, stop: StopSignal): Promise<void> {
  let said = false;
  while (!stop.aborted) {
    try {
      if (await deps.kube.serves(source.resource)) return;
      if (source.optional) synced();
      else if (!said) notServed(deps, source);
      said = true;
    } catch (error) {
      deps.log.warn('discovery-of-api-failed', `whether ${source.resource.plural} are served could not be asked`, { error: String(error) });
    }
    await deps.clock.sleep(source.optional ? absentMs : missingMs, stop);
  }
}

function notServed({ log, metrics }: WatchDeps, { resource }: Source): void {
  metrics.count('dovetail_resource_not_served_total', { resource: resource.plural });
  log.error('resource-not-served', `the API server does not serve ${resource.plural}.${resource.group}; apply deploy/crds. Waiting for it`, { resource: resource.plural });
}

function take(deps: WatchDeps, world: World, source: Source, object: KubeObject): void {
  const failure = source.put(world, object);
  const uid = object.metadata.uid ?? '';
  if (failure === undefined) { world.clearMalformed(uid); return; }
  deps.log.warn('object-malformed', `${source.resource.kind} ${object.metadata.name} cannot be used: ${failure.field} is ${failure.value}: ${failure.remedy}`,
    { resource: source.resource.plural, object: object.metadata.name, field: failure.field });
  deps.metrics.count('dovetail_malformed_objects_total', { kind: source.resource.kind });
  drop(world, source, uid, 'forget');
  world.markMalformed(uid, { object, resource: source.resource, failure });
}

function drop(world: World, source: Source, uid: string, how: 'delete' | 'forget' = 'delete'): void {
  for (const kind of source.kinds) {
    if (how === 'delete') world.delete(kind, uid);
    else world.forget(kind, uid);
  }
  if (how === 'delete') world.clearMalformed(uid);
}
