import { nodeClaimOf, nodePoolOf, provisionerOf } from '@dovetail/core-api';
import { nodeOf, pdbOf, podOf, volumeAttachmentOf, type Parsed } from '@dovetail/core-kube-model';
import { kubeResources, type KubeObject, type KubeResource, type StopSignal } from '@dovetail/core-ports';
import type { ReaperDeps } from '../deps.js';
import { worldKinds, type World, type WorldKind, type WorldValue } from './world.js';

type Watched<K extends WorldKind> = { readonly resource: KubeResource; readonly read: (object: KubeObject) => Parsed<WorldValue[K]>; readonly optional: boolean };

const watched: { readonly [K in WorldKind]: Watched<K> } = {
  pod: { resource: kubeResources.pods, read: podOf, optional: false },
  node: { resource: kubeResources.nodes, read: nodeOf, optional: false },
  claim: { resource: kubeResources.nodeClaims, read: nodeClaimOf, optional: false },
  nodePool: { resource: kubeResources.nodePools, read: nodePoolOf, optional: false },
  provisioner: { resource: kubeResources.provisioners, read: provisionerOf, optional: true },
  pdb: { resource: kubeResources.podDisruptionBudgets, read: pdbOf, optional: false },
  attachment: { resource: kubeResources.volumeAttachments, read: volumeAttachmentOf, optional: false },
};

const retryMs = 5_000;

/** Keeps the world up to date until stopped. A kind whose definition is not installed is looked for again and again. */
export async function keepWorld(deps: ReaperDeps, world: World, stop: StopSignal): Promise<void> {
  await Promise.all(worldKinds.map((kind) => keepKind(deps, world, kind, stop)));
}

async function keepKind<K extends WorldKind>(deps: ReaperDeps, world: World, kind: K, stop: StopSignal): Promise<void> {
  const { resource, optional } = watched[kind];
  const name = `${resource.plural}.${resource.group}`;
  let said = false;
  while (!stop.aborted) {
    try {
      if (await deps.kube.serves(resource)) {
        said = false;
        await follow(deps, world, kind, stop);
      } else if (optional) world.markSynced(kind);
      else if (!said) {
        said = true;
        deps.metrics.count('dovetail_resource_not_served_total', { resource: resource.plural });
        deps.log.error('resource-not-served', `the API server does not serve ${name}; apply deploy/crds. Waiting for it`, { resource: resource.plural });
      }
    } catch (error) {
      if (stop.aborted) return;
      deps.metrics.count('dovetail_watch_errors_total', { resource: name });
      deps.log.warn('watch-failed', `watching ${name} failed: ${String(error)}; trying again`, { resource: name });
    }
    await deps.clock.sleep(retryMs, stop);
  }
}

async function follow<K extends WorldKind>(deps: ReaperDeps, world: World, kind: K, stop: StopSignal): Promise<void> {
  const { resource, read } = watched[kind];
  const project = (object: KubeObject): { readonly object: KubeObject['metadata']; readonly parsed: Parsed<WorldValue[K]> } => ({ object: object.metadata, parsed: read(object) });
  for await (const event of deps.kube.watch({ resource, project }, stop)) {
    if (event.kind === 'synced') world.markSynced(kind);
    else if (event.kind === 'gone') world.delete(kind, event.uid);
    else if (event.value.parsed.ok) world.set(kind, event.value.parsed.value);
    else {
      const { field, value, remedy } = event.value.parsed;
      deps.metrics.count('dovetail_malformed_objects_total', { kind: resource.kind });
      deps.log.warn('object-malformed', `${resource.kind} ${event.value.object.name} cannot be read: ${field} is ${value}; ${remedy}`, { kind: resource.kind, name: event.value.object.name, field });
    }
  }
}
