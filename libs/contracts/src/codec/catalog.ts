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
const instanceType = message<InstanceType>({
  name,
  requirements: requirementMap,
  offerings: list(offering),
  dedicatedPrice: optional(
    message<NonNullable<InstanceType['dedicatedPrice']>>({ micros: int, estimated: flag }),
  ),
  capacity: resources,
  allocatable: resources,
});
/** One part of a class's catalog. */
export const classCatalog = message<ClassCatalog>({
  classUid: name,
  revision: name,
  part: uint,
  parts: uint,
  instanceTypes: list(instanceType),
});
/** An offering to avoid for a while. */
export const unavailableOffering = message<UnavailableOffering>({
  instanceType: name,
  zone: name,
  capacityType,
  untilMs: int,
  awsCode: text,
  failures: int,
});
