import type { InstanceType } from '@dovetail/core-ec2-model';

/**
 * Instance types of several classes, equal ones kept once. A class in one region is about 16 MB,
 * and classes with the same zones, image family and kubelet settings have equal types.
 */
export class SharedTypes {
  readonly #byName = new Map<string, InstanceType[]>();

  /** The kept type that is equal to this one; this one when there is none yet. */
  shared(type: InstanceType): InstanceType {
    const kept = this.#byName.get(type.name) ?? [];
    const text = textOf(type);
    const equal = kept.find((other) => textOf(other) === text);
    if (equal !== undefined) return equal;
    this.#byName.set(type.name, [...kept, type]);
    return type;
  }

  /** Forgets all types that are in none of the catalogs. */
  keepOnly(catalogs: Iterable<readonly InstanceType[]>): void {
    this.#byName.clear();
    for (const types of catalogs)
      for (const type of types) {
        const kept = this.#byName.get(type.name) ?? [];
        if (!kept.includes(type)) this.#byName.set(type.name, [...kept, type]);
      }
  }
}

const textOf = (type: InstanceType): string =>
  JSON.stringify(type, (_, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...(value as Iterable<unknown>)] : value,
  );
