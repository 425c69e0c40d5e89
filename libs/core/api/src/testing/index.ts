export { claimValue, nodeClassValue, poolValue } from './objects.js';
