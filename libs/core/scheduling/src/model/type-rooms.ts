import { labels } from '@dovetail/core-api';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import { float64At } from '@dovetail/core-invariant';
import { admits, type HostPort, type Requirements, type ValueSet } from '@dovetail/core-kube-model';

import { type Daemon, daemonsOfType, intersects, overheadOf } from './daemons.js';
import { type Dimensions, vectorOf } from './dimensions.js';

/**
 * An instance type as one template boots it. `room` is the part that daemonsets leave. If some run
 * in some places only, a type has a room for each set of daemonsets that its places run.
 */
export type TypeRoom = {
  readonly type: InstanceType;
  /** Allocatable amounts less daemonsets. Invariant: no entry is below zero. */
  readonly room: Float64Array;
  readonly overhead: Float64Array;
  readonly hostPorts: readonly HostPort[];
};

/** A type, and its room as an offering. It is absent where the daemonsets alone do not fit. */
export type SoldType = {
  readonly type: InstanceType;
  readonly roomAs: (offering: Offering) => TypeRoom | undefined;
};

/** The labels that the offering decides, and not the type. */
const placeKeys = [labels.zone, labels.zoneId, labels.capacityType] as const;

const admitted = (set: ValueSet | undefined, value: string | undefined): boolean =>
  set === undefined || (value === undefined ? !set.present : admits(set, value));

/** Whether requirements admit this offering's zone, zone id and capacity type. */
export const admitsOffering = (requirements: Requirements, offering: Offering): boolean =>
  admitted(requirements.get(labels.zone), offering.zone) &&
  admitted(requirements.get(labels.capacityType), offering.capacityType) &&
  (offering.zoneId === undefined || admitted(requirements.get(labels.zoneId), offering.zoneId));

/** Whether some of the daemonsets may run in one zone or capacity type and not in another. */
export const dependOnPlace = (daemons: readonly Daemon[]): boolean =>
  daemons.some(({ alternatives }) =>
    alternatives.some((wanted) => placeKeys.some((key) => wanted.has(key))),
  );

/** Makes the rooms of types. Rooms with the same daemonsets share their overhead. */
export class TypeRooms {
  readonly #daemons: readonly Daemon[];
  readonly #dimensions: Dimensions;
  readonly #byPlace: boolean;
  readonly #overheads = new Map<string, Pick<TypeRoom, 'overhead' | 'hostPorts'>>();

  /** With `byPlace`, daemonsets count only on the offerings where they can run. */
  constructor(
    daemons: readonly Daemon[],
    { dimensions, byPlace }: { readonly dimensions: Dimensions; readonly byPlace: boolean },
  ) {
    this.#daemons = daemons;
    this.#dimensions = dimensions;
    this.#byPlace = byPlace;
  }

  /** Returns a type with its rooms. */
  of(type: InstanceType): SoldType {
    if (this.#byPlace) return this.#placed(type);
    const room = this.#roomBeside(type, daemonsOfType(this.#daemons, type.requirements));
    return { type, roomAs: () => room };
  }

  #placed(type: InstanceType): SoldType {
    const possible = this.#daemons.map((daemon) => ({
      daemon,
      alternatives: daemon.alternatives.filter((wanted) => intersects(type.requirements, wanted)),
    }));
    const rooms = new Map<string, TypeRoom | undefined>();
    return {
      type,
      roomAs: (offering) => {
        const mine = possible
          .filter(({ alternatives }) => alternatives.some((one) => admitsOffering(one, offering)))
          .map(({ daemon }) => daemon);
        const text = textOf(mine);
        if (!rooms.has(text)) rooms.set(text, this.#roomBeside(type, mine));
        return rooms.get(text);
      },
    };
  }

  #roomBeside(type: InstanceType, daemons: readonly Daemon[]): TypeRoom | undefined {
    const text = textOf(daemons);
    const known = this.#overheads.get(text) ?? {
      overhead: overheadOf(daemons, this.#dimensions),
      hostPorts: daemons.flatMap((daemon) => daemon.hostPorts),
    };
    this.#overheads.set(text, known);
    const room = vectorOf(this.#dimensions, type.allocatable).map(
      (amount, index) => amount - float64At(known.overhead, index),
    );
    return room.some((amount) => amount < 0) ? undefined : { type, room, ...known };
  }
}

const textOf = (daemons: readonly Daemon[]): string => daemons.map(({ uid }) => uid).join(',');
