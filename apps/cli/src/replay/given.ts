import { type Pool, poolKey } from '@dovetail/core-api';
import type { InstanceType } from '@dovetail/core-ec2-model';

import { readManifests } from '../manifests/files.js';
import { InputError } from '../manifests/input-error.js';
import { objectsOf } from '../manifests/objects.js';
import { Problems } from '../manifests/problems.js';
import { openCatalog } from '../simulate/catalog.js';
import { inventoryOf } from '../simulate/kinds.js';
import { addUnknownFields } from '../simulate/misspelt.js';
import { poolsOf, standardClass } from '../simulate/pools.js';
import type { Changes, PriceChange } from './changes.js';

/** The changes that a command line asks for. */
export type ChangeRequest = {
  /** Manifests of pools. */
  readonly paths: readonly string[];
  readonly prices: readonly PriceChange[];
  /** A region, or a file of types in the KWOK provider's format. */
  readonly catalog?: string;
};

/** Classes decide on types, and the record has those. */
const noTypes = { name: '', kind: 'region', zones: [], typesFor: () => [] } as const;

/**
 * Reads what the changes name. Throws InputError for files that cannot be read: a replay of other
 * pools than those that were meant would be worse than none.
 */
export async function changesOf({ paths, prices, catalog }: ChangeRequest): Promise<Changes> {
  const types = catalog === undefined ? undefined : await typesOf(catalog);
  return {
    prices,
    pools: paths.length === 0 ? [] : await poolsIn(paths),
    ...(types === undefined ? {} : { catalog: types }),
  };
}

async function poolsIn(paths: readonly string[]): Promise<readonly Pool[]> {
  const problems = new Problems();
  const sources = await objectsOf(readManifests(paths), problems);
  await addUnknownFields(sources, problems);
  const { pools } = await poolsOf(await inventoryOf(sources, problems), noTypes);
  const [problem] = problems.lines();
  if (problem !== undefined) throw new InputError(problem);
  if (pools.length === 0)
    throw new InputError(`${paths.join(', ')}: there is no NodePool and no Provisioner in -f`);
  const keys = pools.map(({ pool }) => poolKey(pool.identity));
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw new InputError(`-f has ${twice} twice: give it once`);
  return pools.map(({ pool }) => pool);
}

async function typesOf(name: string): Promise<readonly InstanceType[]> {
  const catalog = await openCatalog(name, true);
  const ref = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'any' } as const;
  return catalog.typesFor(standardClass(ref), undefined);
}
