import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';
import {
  KubeError,
  type KubeObject,
  type KubeResource,
  kubeResources,
  type KubeWatches,
  type StopSignal,
  type WatchReach,
} from '@dovetail/core-ports';

import type { Source } from '../manifests/objects.js';

/** The resources that comparing reads. Karpenter 1.14 has no Provisioners any more. */
const watched: readonly KubeResource[] = [
  kubeResources.nodeClaims,
  kubeResources.pods,
  kubeResources.nodes,
  kubeResources.nodePools,
  kubeResources.ec2NodeClasses,
  kubeResources.namespaces,
  kubeResources.daemonSets,
  kubeResources.podDisruptionBudgets,
  kubeResources.persistentVolumes,
  kubeResources.persistentVolumeClaims,
  kubeResources.storageClasses,
  kubeResources.csiNodes,
  kubeResources.limitRanges,
  kubeResources.runtimeClasses,
];

/** Objects by their UID, for each kind. */
export type Objects = ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;

/** The objects of a live cluster, from watches. Nothing is ever written. */
export class ClusterState {
  readonly #objects = new Map<string, Map<string, KubeObject>>(
    watched.map(({ kind }) => [kind, new Map<string, KubeObject>()]),
  );
  readonly #waiting = new Set(watched.map(({ kind }) => kind));

  readonly #reach: (resource: string, reach: WatchReach) => void;

  /** `reach` is told which resource is seen no more, or again. */
  constructor(reach: (resource: string, reach: WatchReach) => void) {
    this.#reach = reach;
  }

  /** Watches until `stop`. */
  async run(kube: KubeWatches, stop: StopSignal): Promise<void> {
    await Promise.all(watched.map((resource) => this.#watch(kube, resource, stop)));
  }

  /** Whether every first list is complete. */
  synced(): boolean {
    return this.#waiting.size === 0;
  }

  /** The objects as they are now. They are never changed; a later state has other ones. */
  now(): Objects {
    return new Map([...this.#objects].map(([kind, held]) => [kind, new Map(held)]));
  }

  of(kind: string): readonly KubeObject[] {
    return [...(this.#objects.get(kind)?.values() ?? [])];
  }

  async #watch(kube: KubeWatches, resource: KubeResource, stop: StopSignal): Promise<void> {
    try {
      await this.#follow(kube, resource, stop);
    } catch (error) {
      if (!isAbsent(resource, error)) throw error;
      this.#waiting.delete(resource.kind);
    }
  }

  #reached(resource: KubeResource, reach: WatchReach): void {
    if (reach.kind === 'following' || !isAbsent(resource, reach.error))
      return this.#reach(resource.plural, reach);
    this.#waiting.delete(resource.kind);
    // The API server has answered, also after an outage.
    this.#reach(resource.plural, { kind: 'following' });
  }

  async #follow(kube: KubeWatches, resource: KubeResource, stop: StopSignal): Promise<void> {
    const { group, version, kind } = resource;
    const apiVersion = group === '' ? version : `${group}/${version}`;
    const held = this.#objects.get(kind) ?? new Map<string, KubeObject>();
    const project = (object: KubeObject): KubeObject => ({ ...object, apiVersion, kind });
    const reach = (one: WatchReach): void => this.#reached(resource, one);
    for await (const event of kube.watch({ resource, project, reach }, stop)) {
      if (event.kind === 'set') held.set(event.value.metadata.uid ?? '', event.value);
      if (event.kind === 'gone') held.delete(event.uid);
      if (event.kind === 'restored') held.clear();
      if (event.kind === 'synced') this.#waiting.delete(kind);
    }
  }
}

/** A cluster without some API has no such objects. Without Karpenter's, nothing can be seen. */
const isAbsent = ({ group }: KubeResource, error: unknown): boolean =>
  error instanceof KubeError &&
  error.code === 'no-such-resource' &&
  !group.startsWith('karpenter.');

/** Live objects have no text to point into. */
const document = { file: 'the cluster', line: 1, text: '', value: undefined };

/** The objects in the form in which manifests are read. */
export const sourcesOf = (objects: Objects): readonly Source[] =>
  [...objects].flatMap(([kind, held]) =>
    [...held.values()].map((object) => ({
      document,
      path: '',
      kind,
      apiVersion: object.apiVersion ?? '',
      object,
    })),
  );

const disruptedTaint = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };

/** The node of a claim, by the name in its status. */
const nodeNameOf = (claim: KubeObject | undefined): string | undefined => {
  const name = recordOf(claim?.['status'])['nodeName'];
  return typeof name === 'string' ? name : undefined;
};

function withoutEnd(object: KubeObject): KubeObject {
  const { deletionTimestamp: _ending, ...metadata } = object.metadata;
  return { ...object, metadata };
}

const taintsOf = (node: KubeObject): readonly Raw[] => {
  const taints = recordOf(node['spec'])['taints'];
  return Array.isArray(taints) ? taints.filter(isRecord) : [];
};

/** The node with or without the taint of nodes that end. */
function marked(node: KubeObject, ends: boolean): KubeObject {
  const kept = taintsOf(node).filter(({ key }) => key !== disruptedTaint.key);
  const taints = ends ? [...kept, disruptedTaint] : kept;
  return { ...node, spec: { ...recordOf(node['spec']), taints } };
}

/** The changes of a round, which are taken back before it is planned again. */
type Change = {
  /** UIDs of claims that were made. */
  readonly launched: ReadonlySet<string>;
  /** UIDs of claims whose end began. */
  readonly ended: ReadonlySet<string>;
  /** Those of them that are to stay. */
  readonly kept: ReadonlySet<string>;
  /** Pods that were made later than this were not there when the claims were made. */
  readonly untilMs: number;
};

/** The cluster as it was before a round, but for the nodes that end. */
export function before(objects: Objects, change: Change): Objects {
  const claims = objects.get('NodeClaim') ?? new Map<string, KubeObject>();
  const nodesOf = (uids: ReadonlySet<string>): ReadonlySet<string> =>
    new Set([...uids].flatMap((uid) => nodeNameOf(claims.get(uid)) ?? []));
  const [launched, ended, kept] = [change.launched, change.ended, change.kept].map(nodesOf) as [
    ReadonlySet<string>,
    ReadonlySet<string>,
    ReadonlySet<string>,
  ];
  const nodes = [...(objects.get('Node') ?? [])]
    .filter(([, { metadata }]) => !launched.has(metadata.name))
    .map(([uid, node]) => {
      const { name } = node.metadata;
      if (kept.has(name)) return [uid, marked(withoutEnd(node), false)] as const;
      return [uid, ended.has(name) ? marked(node, true) : node] as const;
    });
  const isThere = ({ metadata, ...pod }: KubeObject): boolean =>
    recordOf(pod['spec'])['nodeName'] !== undefined ||
    Date.parse(metadata.creationTimestamp ?? '') <= change.untilMs;
  return new Map([
    ...objects,
    ['Node', new Map(nodes)],
    [
      'NodeClaim',
      new Map(
        [...claims]
          .filter(([uid]) => !change.launched.has(uid))
          .map(([uid, claim]) => [uid, change.kept.has(uid) ? withoutEnd(claim) : claim]),
      ),
    ],
    ['Pod', new Map([...(objects.get('Pod') ?? [])].filter(([, pod]) => isThere(pod)))],
  ]);
}
