export { instanceTypeValue, offeringValue, plainTypeValue, typesByName } from './instance-type.js';
