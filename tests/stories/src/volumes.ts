import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import type { Stage } from '@dovetail/sim-stage';

const { volumeAttachments } = kubeResources;

/** A CSI driver needs seconds to unmount and detach a volume. */
const detachMs = 6_000;

type Pod = KubeObject & { readonly spec?: { readonly nodeName?: string } };

/** Attaches a volume to the node of each pod of an app, and detaches it after the pod is gone. */
export function attachVolumes(stage: Stage, app: string): void {
  const attached = new Set<string>();
  const change = (act: () => Promise<unknown>): void =>
    stage.clock.soon(() => void act().catch(() => undefined));
  stage.store.subscribe(({ table, kind, object }) => {
    const { name, labels } = object.metadata;
    const nodeName = (object as Pod).spec?.nodeName;
    if (table !== 'pods' || labels?.['app'] !== app || nodeName === undefined) return;
    const volume = `volume-of-${name}`;
    if (kind === 'deleted')
      stage.clock.after(detachMs, () =>
        change(() => stage.kube.delete({ resource: volumeAttachments, name: volume })),
      );
    else if (!attached.has(name)) {
      attached.add(name);
      const spec = {
        attacher: 'ebs.csi.aws.com',
        nodeName,
        source: { persistentVolumeName: volume },
      };
      change(() =>
        stage.kube.create(volumeAttachments, {
          apiVersion: 'storage.k8s.io/v1',
          kind: 'VolumeAttachment',
          metadata: { name: volume },
          spec,
        }),
      );
    }
  });
}
