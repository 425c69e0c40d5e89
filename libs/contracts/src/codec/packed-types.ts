import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import { compareText, type Resources, type ValueSet } from '@dovetail/core-kube-model';

import { at, Malformed } from './fields.js';

type DedicatedPrice = NonNullable<InstanceType['dedicatedPrice']>;

/** A type whose shared values are places in the lists of its `PackedTypes`. */
export type PackedType = {
  readonly name: string;
  readonly labelKeys: number;
  readonly labelSets: readonly number[];
  readonly offerings: readonly number[];
  readonly pricesMicrosPerHour: readonly number[];
  readonly capacityKeys: number;
  readonly capacity: readonly number[];
  readonly allocatableKeys: number;
  readonly allocatable: readonly number[];
  readonly dedicatedPrice?: DedicatedPrice;
};

/**
 * Instance types with each shared value written once. A class of 750 types in three zones is 3 MB
 * with every value spelled out, because most types share names of labels, most of their values and
 * all zones.
 */
export type PackedTypes = {
  readonly texts: readonly string[];
  readonly keys: readonly { readonly texts: readonly number[] }[];
  readonly valueSets: readonly ValueSet[];
  /** Offerings with the price 0. */
  readonly offerings: readonly Offering[];
  readonly types: readonly PackedType[];
};

/** A list of different values, and the place of each by its text. */
class Places<T> {
  readonly values: T[] = [];
  readonly #byText = new Map<string, number>();

  of(text: string, value: T): number {
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    this.#byText.set(text, this.values.length);
    this.values.push(value);
    return this.values.length - 1;
  }
}

/** Packs types. Equal types become equal bytes, as each list is in the order of its first use. */
export function packTypes(types: readonly InstanceType[]): PackedTypes {
  const texts = new Places<string>();
  const keys = new Places<{ readonly texts: readonly number[] }>();
  const valueSets = new Places<ValueSet>();
  const offerings = new Places<Offering>();
  const placeOfKeys = (names: readonly string[]): number => {
    const list = names.map((name) => texts.of(name, name));
    return keys.of(list.join(), { texts: list });
  };
  const placeOfOffering = (offering: Offering): number => {
    const shared = { ...offering, priceMicrosPerHour: 0 };
    return offerings.of(JSON.stringify(shared), shared);
  };
  const packed = types.map((type): PackedType => {
    const labels = [...type.requirements].sort(([a], [b]) => compareText(a, b));
    const [capacity, allocatable] = [sorted(type.capacity), sorted(type.allocatable)];
    return {
      name: type.name,
      labelKeys: placeOfKeys(labels.map(([key]) => key)),
      labelSets: labels.map(([, set]) => valueSets.of(textOfSet(set), set)),
      offerings: type.offerings.map(placeOfOffering),
      pricesMicrosPerHour: type.offerings.map(({ priceMicrosPerHour }) => priceMicrosPerHour),
      capacityKeys: placeOfKeys(capacity.map(([name]) => name)),
      capacity: capacity.map(([, amount]) => amount),
      allocatableKeys: placeOfKeys(allocatable.map(([name]) => name)),
      allocatable: allocatable.map(([, amount]) => amount),
      ...(type.dedicatedPrice === undefined ? {} : { dedicatedPrice: type.dedicatedPrice }),
    };
  });
  return {
    texts: texts.values,
    keys: keys.values,
    valueSets: valueSets.values,
    offerings: offerings.values,
    types: packed,
  };
}

const sorted = (amounts: Resources): readonly (readonly [string, number])[] =>
  Object.entries(amounts).sort(([a], [b]) => compareText(a, b));

const textOfSet = ({ values, ...rest }: ValueSet): string =>
  JSON.stringify([[...values].sort(), rest]);

/** Reads the types. Throws Malformed for a place outside of its list, and for lists that differ. */
export function unpackTypes(packed: PackedTypes): readonly InstanceType[] {
  const namesOf = packed.keys.map((list, index) =>
    at(`keys[${index}]`, () => list.texts.map((place) => from(packed.texts, place))),
  );
  const unpacked = (type: PackedType): InstanceType => ({
    name: type.name,
    requirements: new Map(
      pairs(from(namesOf, type.labelKeys), type.labelSets).map(([key, place]) => [
        key,
        from(packed.valueSets, place),
      ]),
    ),
    offerings: pairs(type.offerings, type.pricesMicrosPerHour).map(
      ([place, priceMicrosPerHour]) => ({ ...from(packed.offerings, place), priceMicrosPerHour }),
    ),
    capacity: Object.fromEntries(pairs(from(namesOf, type.capacityKeys), type.capacity)),
    allocatable: Object.fromEntries(pairs(from(namesOf, type.allocatableKeys), type.allocatable)),
    ...(type.dedicatedPrice === undefined ? {} : { dedicatedPrice: type.dedicatedPrice }),
  });
  return packed.types.map((type, index) => at(`types[${index}]`, () => unpacked(type)));
}

function from<T>(list: readonly T[], place: number): T {
  const found = list[place];
  if (found === undefined)
    throw new Malformed(`place ${place} is outside of ${list.length} values`);
  return found;
}

function pairs<A, B>(left: readonly A[], right: readonly B[]): readonly (readonly [A, B])[] {
  if (left.length !== right.length)
    throw new Malformed(`${left.length} values stand beside ${right.length}`);
  return left.map((value, index) => [value, right[index] as B]);
}
