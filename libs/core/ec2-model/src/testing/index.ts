export {
  instanceTypeValue,
  offeringValue,
  plainTypeValue,
  typesByName,
  type TypeSpec,
} from './instance-type.js';
