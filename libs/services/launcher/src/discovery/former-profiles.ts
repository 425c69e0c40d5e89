import type { NodeClass } from '@dovetail/core-api';
import { classKey, type Cluster, instanceIdOf } from '@dovetail/core-cluster';
import {
  type Clock,
  CloudError,
  type Hash,
  type InstanceProfiles,
  type Instances,
  type Log,
} from '@dovetail/core-ports';
import { inParallel } from '@dovetail/service-kit';

import { profileNameOf, profilePathOf, type ProfilePlace } from './profile-name.js';

/** Karpenter collects instance profiles as often. */
const everyMs = 30 * 60_000;

/** The ports and parts that `FormerProfiles` works with. */
export type FormerProfilesDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly hash: Hash;
  readonly cluster: Cluster;
  readonly cloud: Pick<InstanceProfiles, 'instanceProfiles' | 'deleteInstanceProfile'> &
    Pick<Instances, 'instancesById'>;
};

/**
 * Ends instance profiles that were made for a class and are not needed any more. A class whose role
 * changes gets another profile, and nodes that run keep the former one until they end. IAM's list
 * and EC2's instances tell what is there and in use, so a crash leaves nothing behind.
 */
export class FormerProfiles {
  readonly #deps: FormerProfilesDeps;
  /** When profiles of a class were looked for, by the UID of the class. */
  readonly #lookedMs = new Map<string, number>();

  constructor(deps: FormerProfilesDeps) {
    this.#deps = deps;
  }

  /** Deletes, now and then, what no instance of the class runs under. Rejects with CloudError. */
  async sweep(row: NodeClass, place: ProfilePlace): Promise<void> {
    const { clock, cloud, hash, log } = this.#deps;
    const nowMs = clock.nowMs();
    if (nowMs - (this.#lookedMs.get(row.uid) ?? -Infinity) < everyMs) return;
    this.#lookedMs.set(row.uid, nowMs);
    const needed = new Set([profileNameOf(row, place, hash), row.status.instanceProfile]);
    const former = (await this.#madeFor(row, place)).filter((name) => !needed.has(name));
    const inUse = former.length === 0 ? undefined : await this.#inUse(row);
    if (inUse === undefined) return;
    const unused = former.filter((one) => !inUse.has(one));
    // One that IAM refuses to delete keeps no other.
    await inParallel(unused, 1, async (name) => {
      await cloud.deleteInstanceProfile(name);
      log.info('instance-profile-deleted', `no node of ${classKey(row.ref)} runs under ${name}`, {
        profile: name,
      });
    });
  }

  /** Deletes all of them. Invariant: the class has no claim. Rejects with CloudError. */
  async end(row: NodeClass, place: ProfilePlace): Promise<void> {
    const { cloud, hash } = this.#deps;
    this.#lookedMs.delete(row.uid);
    const current = row.role === undefined ? [] : [profileNameOf(row, place, hash)];
    const made = new Set([...current, ...(await this.#madeFor(row, place))]);
    await inParallel([...made], 1, (name) => cloud.deleteInstanceProfile(name));
  }

  forget(uid: string): void {
    this.#lookedMs.delete(uid);
  }

  /** None where the launcher may not list profiles. */
  async #madeFor(row: NodeClass, place: ProfilePlace): Promise<readonly string[]> {
    const { cloud, log } = this.#deps;
    try {
      return await cloud.instanceProfiles(profilePathOf(row, place));
    } catch (error) {
      if (!(error instanceof CloudError) || error.code !== 'denied') throw error;
      log.warn(
        'instance-profiles-not-listed',
        `AWS does not let the launcher list instance profiles (${error.awsCode}), so those of former roles stay: grant iam:ListInstanceProfiles`,
        { class: classKey(row.ref) },
      );
      return [];
    }
  }

  /** The profiles of the class' instances; undefined while not all of them are known. */
  async #inUse(row: NodeClass): Promise<ReadonlySet<string> | undefined> {
    const ids = this.#deps.cluster.claims
      .by('class', classKey(row.ref))
      .map((claim) => instanceIdOf(claim));
    const known = ids.flatMap((id) => id ?? []);
    // A claim without an instance may be about to launch one under an intent with a former profile.
    if (known.length < ids.length) return undefined;
    const instances = known.length === 0 ? [] : await this.#deps.cloud.instancesById(known);
    return instances.length < known.length
      ? undefined
      : new Set(instances.flatMap(({ profile }) => profile ?? []));
  }
}
