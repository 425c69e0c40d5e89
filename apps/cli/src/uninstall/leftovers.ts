import { anotherProviderOf, isFromOurClass, terminationFinalizer } from '@dovetail/core-api';
import { isRecord } from '@dovetail/core-kube-model';
import {
  KubeError,
  type KubeObject,
  type KubeReads,
  type KubeResource,
  kubeResources,
} from '@dovetail/core-ports';

/** Objects of one kind that need the services to end what was made for them. */
export type Leftover = { readonly resource: KubeResource; readonly names: readonly string[] };

/** Exit codes: nothing is left, something is, bad flags, the cluster cannot be read. */
export const uninstallExitCodes = { clear: 0, left: 2, badInput: 64, unavailable: 69 } as const;

const hasProvider = ({ spec }: KubeObject): boolean =>
  isRecord(spec) && spec['provider'] !== undefined;
const isOurs = (object: KubeObject): boolean => anotherProviderOf(object) === undefined;
const waitsForServices = ({ metadata }: KubeObject): boolean =>
  metadata.finalizers?.includes(terminationFinalizer) === true &&
  isFromOurClass({ labels: metadata.labels ?? {} });

/**
 * The kinds that stand for instances, launch templates and instance profiles, or that make the
 * launcher go on making them. A Provisioner does so only with a `provider` of its own. A Node
 * counts while it waits for its instance to end. Objects of other providers are not ours to end.
 */
const kinds: readonly {
  readonly resource: KubeResource;
  readonly counts: (object: KubeObject) => boolean;
}[] = [
  { resource: kubeResources.nodeClaims, counts: isOurs },
  { resource: kubeResources.nodes, counts: waitsForServices },
  { resource: kubeResources.ec2NodeClasses, counts: () => true },
  { resource: kubeResources.awsNodeTemplates, counts: () => true },
  { resource: kubeResources.provisioners, counts: hasProvider },
];

/** Without its definition, no object of a kind is there. */
async function listed(kube: KubeReads, resource: KubeResource): Promise<readonly KubeObject[]> {
  try {
    return await kube.list(resource);
  } catch (error) {
    const codes: readonly string[] = ['not-found', 'no-such-resource'];
    if (error instanceof KubeError && codes.includes(error.code)) return [];
    throw error;
  }
}

/** The remainder of Dovetail's work, by kind. Rejects with KubeError. */
export async function leftovers(kube: KubeReads): Promise<readonly Leftover[]> {
  const found = await Promise.all(
    kinds.map(async ({ resource, counts }) => {
      const objects = (await listed(kube, resource)).filter(counts);
      return { resource, names: objects.map(({ metadata }) => metadata.name).toSorted() };
    }),
  );
  return found.filter(({ names }) => names.length > 0);
}

const namesMax = 5;

function row({ resource: { plural, group }, names }: Leftover): string {
  const kind = group === '' ? plural : `${plural}.${group}`;
  const more = names.length > namesMax ? ` and ${names.length - namesMax} more` : '';
  return `  ${kind}: ${names.slice(0, namesMax).join(', ')}${more}\n`;
}

/** Says what is left, why the services must stay for it, and what to do. */
export const refusal = (left: readonly Leftover[]): string =>
  `Dovetail must stay, because these are left:\n${left.map(row).join('')}` +
  'Only its services end their instances, launch templates, instance profiles and finalizers.\n' +
  'Delete the pools, wait until their nodes are gone, delete the classes, then uninstall again. To leave all as it\n' +
  'is, for example to Karpenter: helm uninstall --no-hooks\n';

/** The time between two looks. */
const lookEveryMs = 5_000;

/**
 * Looks until something is left, or nothing was for `settleMs`: the launcher deletes launch
 * templates up to half a minute after their class. Rejects with KubeError.
 */
export async function leftWithin(
  kube: KubeReads,
  settleMs: number,
  pause: (ms: number) => Promise<void>,
): Promise<readonly Leftover[]> {
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const left = await leftovers(kube);
    if (left.length > 0 || waitedMs >= settleMs) return left;
    await pause(Math.min(lookEveryMs, settleMs - waitedMs));
  }
}
