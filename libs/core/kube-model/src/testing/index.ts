export { inheritedKeys } from './inherited-keys.js';
export { daemonSetValue, gibibytes, mebibytes, nodeValue, podValue, selecting } from './objects.js';
