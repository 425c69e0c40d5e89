import type { Offering } from '@dovetail/core-ec2-model';
import { present } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import type { Offer } from '../model/templates.js';
import { admitsOffering } from '../model/type-rooms.js';
import { offerHolds } from '../rooms/accounts.js';
import type { Bin } from '../rooms/bin.js';

/** The zones, capacity types and types of offers that a claim names. */
type Named = {
  readonly zones: Set<string>;
  readonly capacityTypes: Set<string>;
  readonly types: Set<string>;
};

/** The offerings of a type, by its name, as which it does not hold a load. */
type Misfits = (name: string) => readonly Offering[];

/** Returns the misfits of the types that a bin may be launched as. Each is computed once. */
function misfitsOf(bin: Bin): Misfits {
  const { template, requirements } = bin.state as State;
  const known = new Map<string, readonly Offering[]>();
  return (name) => {
    const mine = known.get(name);
    if (mine !== undefined) return mine;
    const { type, roomAs } = present(template.roomsByPlace?.get(name), 'offers have known types');
    const misfits = type.offerings.filter((offering) => {
      const room = roomAs(offering);
      return (
        admitsOffering(requirements, offering) &&
        (room === undefined || !offerHolds({ type: room, offering }, bin))
      );
    });
    known.set(name, misfits);
    return misfits;
  };
}

const isNamed = ({ zones, capacityTypes }: Named, { zone, capacityType }: Offering): boolean =>
  zones.has(zone) && capacityTypes.has(capacityType);

/** Adds an offer to those named, unless some named type then does not hold the load somewhere. */
function addUnlessMisfit(named: Named, { type, offering }: Offer, misfits: Misfits): boolean {
  const { name } = type.type;
  const isKnown = isNamed(named, offering);
  if (isKnown && named.types.has(name)) return true;
  const next = {
    zones: new Set([...named.zones, offering.zone]),
    capacityTypes: new Set([...named.capacityTypes, offering.capacityType]),
    types: new Set([...named.types, name]),
  };
  const fits = (some: Iterable<string>): boolean => {
    for (const one of some) if (misfits(one).some((misfit) => isNamed(next, misfit))) return false;
    return true;
  };
  if (!fits(isKnown ? [name] : next.types)) return false;
  named.zones.add(offering.zone);
  named.capacityTypes.add(offering.capacityType);
  named.types.add(name);
  return true;
}

/**
 * Narrows offers so that each of their types holds the load in each of their zones and capacity
 * types. A claim names the three apart, and EC2 may choose any combination. Offers that all hold
 * the load may lack this only where daemonsets depend on the place. The offer that the node is
 * charged as stays, or else the cheapest, and after it the cheaper ones.
 */
export function holdingAnywhere(offers: readonly Offer[], bin: Bin): readonly Offer[] {
  if ((bin.state as State).template.roomsByPlace === undefined) return offers;
  const misfits = misfitsOf(bin);
  if (offers.every(({ type }) => misfits(type.type.name).length === 0)) return offers;
  const named = {
    zones: new Set<string>(),
    capacityTypes: new Set<string>(),
    types: new Set<string>(),
  };
  if (bin.offer !== undefined) addUnlessMisfit(named, bin.offer, misfits);
  return offers.filter((offer) => addUnlessMisfit(named, offer, misfits));
}
