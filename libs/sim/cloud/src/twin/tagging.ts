import { AwsFault } from '../foundation/aws-fault.js';
import { checkTags } from '../parts/fleet-request.js';
import type { Instances } from '../parts/instances.js';
import type { LaunchTemplates } from '../parts/launch-templates.js';
import type { Network } from '../parts/network.js';
import { findVolume } from '../parts/volumes.js';

type Tags = Readonly<Record<string, string>>;
type Parts = {
  readonly instances: Instances;
  readonly templates: LaunchTemplates;
  readonly network: Network;
};

/** A tag to take away: by its key, or only if it has this value. */
export type TagToDelete = { readonly key: string; readonly value?: string };

function retagVolume({ instances }: Parts, id: string, change: (tags: Tags) => Tags): boolean {
  const volume = findVolume(instances, id);
  volume?.instance.tagsByVolume.set(id, change(volume.tags));
  return volume !== undefined;
}

/** Changes the tags of all things with these ids, or of none if one does not exist. */
function retagAll(parts: Parts, ids: readonly string[], change: (tags: Tags) => Tags): void {
  const ofInstances = ids.filter((id) => id.startsWith('i-'));
  if (ofInstances.length > 0) parts.instances.describe({ ids: ofInstances, filters: [] });
  for (const keep of [(tags: Tags) => tags, change])
    for (const id of ids) {
      const done = id.startsWith('i-')
        ? parts.instances.retag(id, keep)
        : id.startsWith('vol-')
          ? retagVolume(parts, id, keep)
          : parts.templates.retag(id, keep) || parts.network.retag(id, keep);
      if (!done) throw new AwsFault('InvalidID', `The ID '${id}' is not valid`);
    }
}

/** CreateTags. Tags none when one of the things does not exist. */
export function tagAll(parts: Parts, ids: readonly string[], tags: Tags): void {
  checkTags(tags);
  retagAll(parts, ids, (before) => ({ ...before, ...tags }));
}

/**
 * DeleteTags. Without a list it takes all tags that the account gave away, but none of AWS' own. A
 * tag that a thing does not have is no error.
 */
export function untagAll(
  parts: Parts,
  ids: readonly string[],
  tags: readonly TagToDelete[] | undefined,
): void {
  const goes = (key: string, value: string): boolean =>
    tags === undefined
      ? !key.startsWith('aws:')
      : tags.some((tag) => tag.key === key && (tag.value === undefined || tag.value === value));
  retagAll(parts, ids, (before) =>
    Object.fromEntries(Object.entries(before).filter(([key, value]) => !goes(key, value))),
  );
}
