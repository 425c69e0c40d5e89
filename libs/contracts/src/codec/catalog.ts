import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import type { ValueSet } from '@dovetail/core-kube-model';

import type { ClassCatalog, UnavailableOffering } from '../messages.js';
import {
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
} from './fields.js';
import { type PackedType, type PackedTypes, packTypes, unpackTypes } from './packed-types.js';
import { capacityType } from './values.js';
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
const packedTypes = message<PackedTypes>({
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
const types: Codec<ClassCatalog['instanceTypes']> = {
  write: (value) => packedTypes.write(packTypes(value)),
  read: (from) => unpackTypes(packedTypes.read(from)),
};
const packed = message<
  Omit<ClassCatalog, 'instanceTypes'> & { readonly types: ClassCatalog['instanceTypes'] }
>({ classUid: name, revision: name, part: uint, parts: uint, types });
/** One part of a class's catalog. */
export const classCatalog: Codec<ClassCatalog> = {
  write: ({ instanceTypes, ...rest }) => packed.write({ ...rest, types: instanceTypes }),
  read: (from) => {
    const { types: instanceTypes, ...rest } = packed.read(from);
    return { ...rest, instanceTypes };
  },
};

/** An offering to avoid for a while. */
export const unavailableOffering = message<UnavailableOffering>({
  instanceType: name,
  zone: name,
  capacityType,
  untilMs: int,
  awsCode: text,
  failures: int,
});
