import {
  compareText,
  type PersistentVolumeClaim,
  type Pod,
  type StorageClass,
} from '@dovetail/core-kube-model';

/** The name of the stand-in for the default class. No manifest can have it: it is no DNS name. */
const defaultName = '(default)';

/**
 * The class that stands in for a missing one: EBS volumes that are made in the zone of their pod,
 * as the classes of EKS' documentation make them.
 */
const standIn = (name: string): StorageClass => ({
  uid: `StorageClass//${name}`,
  name,
  resourceVersion: '',
  createdMs: 0,
  isDefault: name === defaultName,
  provisioner: 'ebs.csi.aws.com',
  bindingMode: 'WaitForFirstConsumer',
});

/**
 * Classes that claims and pods name and the input lacks, each with a note. Manifests of workloads
 * hardly ever have their classes. A claim without a class has the default one, which a cluster has.
 */
export function assumedStorageClasses(
  pods: readonly Pod[],
  claims: readonly PersistentVolumeClaim[],
  given: readonly StorageClass[],
): { readonly classes: readonly StorageClass[]; readonly notes: readonly string[] } {
  const known = new Set(given.map(({ name }) => name));
  const claimed = new Map(claims.map((claim) => [`${claim.namespace}/${claim.name}`, claim]));
  const wanted = new Set<string>();
  for (const pod of pods)
    for (const volume of pod.volumes) {
      const claim = claimed.get(`${pod.namespace}/${volume.claimName}`);
      if (claim === undefined && volume.ephemeral === undefined) continue;
      if (claim?.volumeName !== undefined) continue;
      const name = (claim ?? volume.ephemeral)?.storageClassName;
      if (name === undefined && !given.some((one) => one.isDefault)) wanted.add(defaultName);
      else if (name !== undefined && name !== '' && !known.has(name)) wanted.add(name);
    }
  const names = [...wanted].sort(compareText);
  return {
    classes: names.map(standIn),
    notes: names.map((name) => {
      const what = name === defaultName ? 'a default StorageClass' : `StorageClass/${name}`;
      return `${what} is not in the manifests: EBS volumes that wait for their first pod stand for it`;
    }),
  };
}
