import { errorAt, type Source } from '../manifests/objects.js';
import type { Problems } from '../manifests/problems.js';
import { groupOf, meantKind, unknownKind } from './misspelt.js';
import { namespaced, olderVersions, readVersions } from './read-kinds.js';

/** Kinds in lower case, as a misspelt manifest may name them. */
const kindsByLowerCase = new Map(
  [...readVersions.keys()].map((kind) => [kind.toLowerCase(), kind]),
);

/**
 * Whether the group is one of Kubernetes' own. A kind of that name there can only be ours,
 * misspelt or in a version of long ago. The groups of CRDs have a dot, and kinds of their own.
 */
const isKubernetesGroup = (group: string): boolean =>
  !group.includes('.') || group.endsWith('.k8s.io');

/** Gives an object its identity: a namespace and a UID, if the manifest has none. */
export type Item = Source & {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
};

/** Objects by kind, in the order of their manifests, and those left aside. */
export type Inventory = {
  of(kind: string): readonly Item[];
  /** The number of objects of each kind that play no part in planning. */
  readonly ignored: ReadonlyMap<string, number>;
  /** Notes for the user, for example about an object that is given more than once. */
  readonly notes: readonly string[];
  /** The problems so far. Readers of the objects add theirs. */
  readonly problems: Problems;
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

async function itemOf(source: Source, serial: number): Promise<Item> {
  const metadata = (
    typeof source.object['metadata'] === 'object' ? (source.object['metadata'] ?? {}) : {}
  ) as Readonly<Record<string, unknown>>;
  const generated = textOf(metadata['generateName']);
  const name = textOf(metadata['name']) || (generated === '' ? '' : `${generated}${serial}`);
  if (name === '')
    throw await errorAt(source, {
      field: 'metadata.name',
      value: JSON.stringify(metadata['name']) ?? '(absent)',
      remedy: 'this field is required: write a name, in quotes if it looks like a number',
    });
  const namespace = namespaced.has(source.kind) ? textOf(metadata['namespace']) || 'default' : '';
  const uid = textOf(metadata['uid']) || `${source.kind}/${namespace}/${name}`;
  const object = {
    ...source.object,
    metadata: { ...metadata, name, uid, ...(namespace === '' ? {} : { namespace }) },
  };
  return { ...source, object, name, namespace, uid };
}

/** The kind that an object is read as; undefined for one that plays no part in planning. */
async function readKindOf(source: Source): Promise<string | undefined> {
  const kind = kindsByLowerCase.get(source.kind.toLowerCase());
  const version = kind === undefined ? undefined : readVersions.get(kind);
  if (kind === undefined || version === undefined) return undefined;
  const group = groupOf(source.apiVersion);
  if (group !== groupOf(version) && !isKubernetesGroup(group)) return undefined;
  if (kind !== source.kind)
    throw await errorAt(source, {
      field: 'kind',
      value: JSON.stringify(source.kind),
      remedy: `write ${kind}`,
    });
  if (
    version !== source.apiVersion &&
    olderVersions.get(kind)?.includes(source.apiVersion) !== true
  )
    throw await errorAt(source, {
      field: 'apiVersion',
      value: JSON.stringify(source.apiVersion),
      remedy: `write ${source.kind} in ${version}`,
    });
  return kind;
}

const titleOf = (item: Item): string =>
  `${item.kind} ${item.namespace === '' ? item.name : `${item.namespace}/${item.name}`}`;

/**
 * The objects of a kind, each with a UID of its own. An object that was copied and renamed by hand
 * still carries the UID of its original, and one of the two would vanish.
 */
function withOwnUids(items: readonly Item[], notes: string[]): readonly Item[] {
  const owners = new Map<string, Item>();
  return items.map((item) => {
    const owner = owners.get(item.uid);
    if (owner === undefined) {
      owners.set(item.uid, item);
      return item;
    }
    notes.push(`${titleOf(item)} has the uid of ${titleOf(owner)}: both count`);
    const uid = `${item.kind}/${item.namespace}/${item.name}`;
    const metadata = item.object['metadata'] as Readonly<Record<string, unknown>>;
    return { ...item, uid, object: { ...item.object, metadata: { ...metadata, uid } } };
  });
}

/**
 * The object as an item; undefined if its kind plays no part, which is counted, or is misspelt,
 * which is a problem. Throws InputError for a known kind in another version.
 */
async function readItem(
  source: Source,
  serial: number,
  { ignored, problems }: { readonly ignored: Map<string, number>; readonly problems: Problems },
): Promise<Item | undefined> {
  if ((await readKindOf(source)) !== undefined) return itemOf(source, serial);
  const meant = meantKind(source, readVersions);
  if (meant !== undefined) {
    problems.add('unknown-kind', await unknownKind(source, meant));
    return undefined;
  }
  const ours = readVersions.has(source.kind);
  const shown = ours ? `${source.kind} of ${groupOf(source.apiVersion)}` : source.kind;
  ignored.set(shown, (ignored.get(shown) ?? 0) + 1);
  return undefined;
}

/** Sorts objects by kind. Those that cannot be read become problems. */
export async function inventoryOf(
  sources: readonly Source[],
  problems: Problems,
): Promise<Inventory> {
  const byKind = new Map<string, Map<string, Item>>();
  const ignored = new Map<string, number>();
  const notes: string[] = [];
  for (const [serial, source] of sources.entries()) {
    const item = await problems.reading(() => readItem(source, serial, { ignored, problems }));
    if (item === undefined) continue;
    const known = byKind.get(source.kind) ?? new Map<string, Item>();
    byKind.set(source.kind, known);
    const identity = `${item.namespace}/${item.name}`;
    if (known.delete(identity))
      notes.push(`${titleOf(item)} is given more than once: the last one counts`);
    known.set(identity, item);
  }
  const items = new Map(
    [...byKind].map(([kind, known]) => [kind, withOwnUids([...known.values()], notes)]),
  );
  return { of: (kind) => items.get(kind) ?? [], ignored, notes, problems };
}
