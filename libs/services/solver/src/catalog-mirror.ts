import type { CatalogEvent, ClassCatalog, UnavailableOffering } from '@dovetail/contracts';
import {
  type InstanceType,
  markKeys,
  type OfferingIdentity,
  offeringKey,
} from '@dovetail/core-ec2-model';

import { SharedTypes } from './shared-types.js';

/** A class's catalog, of one revision and complete. */
export type MirroredCatalog = {
  readonly revision: string;
  readonly types: readonly InstanceType[];
};

/**
 * A solver's copy of the catalog stream.
 *
 * Invariant: a class has types only of a revision whose parts have all arrived.
 */
export class CatalogMirror {
  readonly #catalogs = new Map<string, MirroredCatalog>();
  /** Parts of incomplete revisions, by `classUid revision`, then by part. */
  readonly #parts = new Map<string, Map<number, ClassCatalog>>();
  readonly #unavailable = new Map<string, UnavailableOffering>();
  readonly #types = new SharedTypes();
  #caughtUp = false;
  #changes = 0;

  /** The stream has been read to its end once since it was last lost. */
  get caughtUp(): boolean {
    return this.#caughtUp;
  }

  /** The number of offerings that have ever been out of capacity, now or before. */
  get unavailableCount(): number {
    return this.#unavailable.size;
  }

  /** The types that a class can boot; undefined until a revision is complete. */
  of(classUid: string): MirroredCatalog | undefined {
    return this.#catalogs.get(classUid);
  }

  /** Names the catalog as a whole. A plan refers to it. */
  revision(): string {
    return [...this.#catalogs]
      .map(([uid, catalog]) => `${uid}=${catalog.revision}`)
      .toSorted()
      .join(',');
  }

  /** Whether the launcher avoids the offering now, because EC2 had no capacity. */
  isUnavailable(offering: OfferingIdentity, nowMs: number): boolean {
    return markKeys(offering).some((key) => (this.#unavailable.get(key)?.untilMs ?? 0) > nowMs);
  }

  /** When the next offering is avoided no more; infinity if none is avoided after `nowMs`. */
  nextEndMs(nowMs: number): number {
    let endMs = Infinity;
    for (const { untilMs } of this.#unavailable.values())
      if (untilMs > nowMs) endMs = Math.min(endMs, untilMs);
    return endMs;
  }

  /** The number of events of the catalog stream so far. */
  get changes(): number {
    return this.#changes;
  }

  /** Applies one event of the catalog stream. A malformed one changes nothing. */
  apply(event: CatalogEvent): void {
    this.#changes += 1;
    switch (event.kind) {
      case 'reset':
        this.#catalogs.clear();
        this.#parts.clear();
        this.#types.keepOnly([]);
        this.#unavailable.clear();
        this.#caughtUp = false;
        return;
      case 'caught-up':
        this.#caughtUp = true;
        return;
      case 'malformed':
        return;
      case 'unavailable':
        this.#unavailable.set(offeringKey(event.offering), event.offering);
        return;
      case 'class':
        return this.#addPart(event.part);
      case 'class-gone':
        return event.part === 0 ? this.#forget(event.classUid) : undefined;
    }
  }

  #addPart(part: ClassCatalog): void {
    const key = `${part.classUid} ${part.revision}`;
    const parts = this.#parts.get(key) ?? new Map<number, ClassCatalog>();
    parts.set(part.part, part);
    this.#parts.set(key, parts);
    if (parts.size < part.parts) return;
    const types = [...parts]
      .toSorted(([a], [b]) => a - b)
      .flatMap(([, each]) => each.instanceTypes);
    this.#forget(part.classUid);
    this.#catalogs.set(part.classUid, {
      revision: part.revision,
      types: types.map((type) => this.#types.shared(type)),
    });
  }

  #forget(classUid: string): void {
    for (const other of [...this.#parts.keys()])
      if (other.startsWith(`${classUid} `)) this.#parts.delete(other);
    if (this.#catalogs.delete(classUid))
      this.#types.keepOnly([...this.#catalogs.values()].map(({ types }) => types));
  }
}
