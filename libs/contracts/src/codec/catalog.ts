import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import type { Requirements, ValueSet } from '@dovetail/core-kube-model';

import type { ClassCatalog, UnavailableOffering } from '../messages.js';
import {
  at,
  type Codec,
  flag,
  int,
  list,
  message,
  name,
  oneOf,
  optional,
  text,
  uint,
  type Wire,
} from './fields.js';
import { type PackedType, type PackedTypes, packTypes, unpackTypes } from './packed-types.js';
import { capacityType, resources } from './values.js';
import { wire as w } from './wire.js';

/** Sets are written in ascending order, so that equal sets become equal bytes. */
const valuesOfSet: Codec<ReadonlySet<string>> = {
  write: (value) => [...value].sort(),
  read: (from) => new Set(list(text).read(from)),
};
const valueSet = message<ValueSet>({
  kind: oneOf<ValueSet['kind']>({
    in: w.ValueSetKind.VALUE_SET_KIND_IN,
    notIn: w.ValueSetKind.VALUE_SET_KIND_NOT_IN,
  }),
  values: valuesOfSet,
  gte: optional(int),
  lte: optional(int),
  present: flag,
  minValues: optional(int),
});
const requirementMap: Codec<Requirements> = {
  write: (value) =>
    Object.fromEntries(
      [...value.keys()].sort().map((key) => [key, valueSet.write(value.get(key) as ValueSet)]),
    ),
  read: (from) =>
    new Map(
      Object.entries((from ?? {}) as Wire).map(([key, set]) => [
        key,
        at(`[${key}]`, () => valueSet.read(set)),
      ]),
    ),
};

const offering = message<Offering>({
  zone: name,
  zoneId: optional(text),
  capacityType,
  priceMicrosPerHour: int,
  available: flag,
  reservation: optional(
    message<NonNullable<Offering['reservation']>>({ id: name, remaining: int }),
  ),
  priceEstimated: flag,
});
const dedicatedPrice = message<NonNullable<InstanceType['dedicatedPrice']>>({
  micros: int,
  estimated: flag,
});
const instanceType = message<InstanceType>({
  name,
  requirements: requirementMap,
  offerings: list(offering),
  dedicatedPrice: optional(dedicatedPrice),
  capacity: resources,
  allocatable: resources,
});
const packedTypes = message<PackedTypes>({
  revision: name,
  texts: list(text),
  keys: list(message<PackedTypes['keys'][number]>({ texts: list(uint) })),
  valueSets: list(valueSet),
  offerings: list(offering),
  types: list(
    message<PackedType>({
      name,
      labelKeys: uint,
      labelSets: list(uint),
      offerings: list(uint),
      pricesMicrosPerHour: list(int),
      capacityKeys: uint,
      capacity: list(int),
      allocatableKeys: uint,
      allocatable: list(int),
      dedicatedPrice: optional(dedicatedPrice),
    }),
  ),
});
const place = message<Pick<ClassCatalog, 'classUid' | 'part' | 'parts'>>({
  classUid: name,
  part: uint,
  parts: uint,
});
const spelledOut = message<Pick<ClassCatalog, 'revision' | 'instanceTypes'>>({
  revision: name,
  instanceTypes: list(instanceType),
});

/**
 * One part of a class's catalog. Types are written packed, and read in both forms. A part that is
 * gone has no types, so every reader knows its form.
 */
export const classCatalog: Codec<ClassCatalog> = {
  write: (value) => {
    const types =
      value.parts === 0
        ? spelledOut.write(value)
        : { packed: packedTypes.write(packTypes(value.revision, value.instanceTypes)) };
    return Object.assign({}, place.write(value), types);
  },
  read: (from) => {
    const { packed } = (from ?? {}) as Wire;
    const isPacked = packed !== null && packed !== undefined;
    return {
      ...place.read(from),
      ...(isPacked ? at('packed', () => readPacked(packed)) : spelledOut.read(from)),
    };
  },
};

function readPacked(from: unknown): Pick<ClassCatalog, 'revision' | 'instanceTypes'> {
  const packed = packedTypes.read(from);
  return { revision: packed.revision, instanceTypes: unpackTypes(packed) };
}

/** An offering to avoid for a while. */
export const unavailableOffering = message<UnavailableOffering>({
  instanceType: name,
  zone: name,
  capacityType,
  untilMs: int,
  awsCode: text,
  failures: int,
});
