import {
  awsNodeTemplateOf,
  ec2NodeClassOf,
  inlineProviderOf,
  type KubernetesVersion,
  nodeClaimOf,
  nodePoolOf,
  provisionerOf,
} from '@dovetail/core-api';
import {
  type Cluster,
  type ClusterKind,
  clusterKinds,
  type ClusterValue,
} from '@dovetail/core-cluster';
import { at } from '@dovetail/core-invariant';
import {
  csiNodeOf,
  daemonSetOf,
  EqualParts,
  isBound,
  namespaceOf,
  nodeOf,
  type Parsed,
  type ParseFailure,
  podOf,
  pvcOf,
  pvOf,
  storageClassOf,
} from '@dovetail/core-kube-model';
import {
  type KubeObject,
  type KubeResource,
  kubeResources,
  type StopSignal,
} from '@dovetail/core-ports';
import {
  type AdmissionKind,
  AdmittedTemplates,
  UnreadableObjects,
  type WatchDeps,
  watchServed,
} from '@dovetail/service-kit';

/** The kinds that the launcher watches: all but those that only retiring reads. */
export const watchedKinds: readonly ClusterKind[] = clusterKinds.filter(
  (kind) => kind !== 'pdb' && kind !== 'attachment',
);

/** Puts an object into the mirror, or says why it cannot be read. */
type Put = (cluster: Cluster, object: KubeObject) => ParseFailure | undefined;

/** A resource and the kinds that its objects become. A kind may come from several resources. */
type Source = {
  readonly resource: KubeResource;
  /** Invariant: at least one. */
  readonly kinds: readonly ClusterKind[];
  readonly put: Put;
  /** Takes the object out where that is more than forgetting its kinds. */
  readonly gone?: (cluster: Cluster, uid: string) => void;
  /** A legacy API, which a cluster need not serve. */
  readonly optional: boolean;
};

const plain = <K extends ClusterKind>(
  kind: K,
  resource: KubeResource,
  parse: (raw: unknown) => Parsed<ClusterValue[K]>,
  optional = false,
): Source => ({
  resource,
  kinds: [kind],
  optional,
  put: (cluster, object) => {
    const read = parse(object);
    if (!read.ok) return read;
    cluster.set(kind, read.value);
    return undefined;
  },
});

/**
 * Everything that is watched. Legacy classes are read as the cluster's Kubernetes version asks for.
 */
const sourcesFor = (
  kubernetes: KubernetesVersion,
  equalParts = new EqualParts(),
): readonly Source[] => [
  plain('pod', kubeResources.pods, equalParts.reading(podOf, isBound)),
  plain('node', kubeResources.nodes, equalParts.reading(nodeOf)),
  plain('claim', kubeResources.nodeClaims, equalParts.reading(nodeClaimOf)),
  ...daemonSetSources(),
  plain('namespace', kubeResources.namespaces, namespaceOf),
  plain('pv', kubeResources.persistentVolumes, pvOf),
  plain('pvc', kubeResources.persistentVolumeClaims, pvcOf),
  plain('storageclass', kubeResources.storageClasses, storageClassOf),
  plain('csinode', kubeResources.csiNodes, csiNodeOf),
  plain('pool', kubeResources.nodePools, nodePoolOf),
  plain('nodeclass', kubeResources.ec2NodeClasses, ec2NodeClassOf),
  plain(
    'nodeclass',
    kubeResources.awsNodeTemplates,
    (raw) => awsNodeTemplateOf(raw, kubernetes),
    true,
  ),
  {
    resource: kubeResources.provisioners,
    kinds: ['pool', 'nodeclass'],
    put: putProvisioner(kubernetes),
    optional: true,
  },
];

/**
 * Daemonsets as their pods will be, and the objects that say so. The kind is synced only when all
 * have been listed.
 */
function daemonSetSources(): readonly Source[] {
  const templates = new AdmittedTemplates();
  const put = (cluster: Cluster, object: KubeObject): ParseFailure | undefined => {
    const read = daemonSetOf(object);
    if (!read.ok) return read;
    cluster.set('daemonset', read.value);
    return undefined;
  };
  const changing = (kind: AdmissionKind, resource: KubeResource, optional: boolean): Source => ({
    resource,
    kinds: ['daemonset'],
    optional,
    put: (cluster, object) => {
      for (const daemonSet of templates.set(kind, object)) put(cluster, daemonSet);
      return undefined;
    },
    gone: (cluster, uid) => {
      for (const daemonSet of templates.gone(kind, uid)) put(cluster, daemonSet);
    },
  });
  return [
    {
      resource: kubeResources.daemonSets,
      kinds: ['daemonset'],
      optional: false,
      put: (cluster, object) => put(cluster, templates.daemonSet(object)),
      gone: (cluster, uid) => {
        templates.daemonSetGone(uid);
        cluster.delete('daemonset', uid);
      },
    },
    changing('limitRange', kubeResources.limitRanges, false),
    changing('runtimeClass', kubeResources.runtimeClasses, true),
  ];
}

/** A Provisioner is a pool and, with an inline provider, its class as well. */
function putProvisioner(kubernetes: KubernetesVersion): Put {
  return (cluster, object) => {
    const pool = provisionerOf(object);
    if (!pool.ok) return pool;
    const inline = inlineProviderOf(object, kubernetes);
    if (!inline.ok) return inline;
    if (inline.value === undefined) cluster.forget('nodeclass', pool.value.uid);
    else cluster.set('nodeclass', inline.value);
    cluster.set('pool', pool.value);
    return undefined;
  };
}

/**
 * Keeps the mirror equal to the cluster until `stop`. An unreadable object is reported with its
 * name, field and remedy, and treated as absent. A kind is synced when all its resources have been
 * listed.
 */
export async function watchCluster(
  deps: WatchDeps,
  cluster: Cluster,
  kubernetes: KubernetesVersion,
  stop: StopSignal,
): Promise<void> {
  const sources = sourcesFor(kubernetes);
  const unlisted = new Set(sources);
  const listed = (source: Source): void => {
    unlisted.delete(source);
    for (const kind of source.kinds)
      if (![...unlisted].some((other) => other.kinds.includes(kind))) cluster.markSynced(kind);
  };
  const unreadable = new UnreadableObjects(deps);
  await Promise.all(
    sources.map((source) =>
      watchServed(
        deps,
        { ...source, project: (object) => object },
        {
          absent: () => listed(source),
          event: (event) => {
            if (event.kind === 'synced') listed(source);
            else if (event.kind === 'restored') restored(cluster, source);
            else if (event.kind === 'set') take(cluster, unreadable, source, event.value);
            else drop(cluster, unreadable, source, event.uid);
          },
        },
        stop,
      ),
    ),
  );
}

function restored(cluster: Cluster, { kinds }: Source): void {
  for (const kind of kinds) cluster.forgetVersions(kind);
}

function take(
  cluster: Cluster,
  unreadable: UnreadableObjects,
  source: Source,
  object: KubeObject,
): void {
  const { resource, kinds } = source;
  const { name, uid = '' } = object.metadata;
  const failure = source.put(cluster, object);
  if (failure === undefined) {
    unreadable.forget(uid);
    cluster.clearUnreadable(uid);
    return;
  }
  unreadable.report({ kind: resource.kind, name, uid }, failure);
  for (const kind of kinds) cluster.forget(kind, uid);
  cluster.markUnreadable(at(kinds, 0), uid, { object, resource, failure });
}

function drop(cluster: Cluster, unreadable: UnreadableObjects, source: Source, uid: string): void {
  if (source.gone === undefined) for (const kind of source.kinds) cluster.delete(kind, uid);
  else source.gone(cluster, uid);
  unreadable.forget(uid);
  cluster.clearUnreadable(uid);
}
