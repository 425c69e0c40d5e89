export { daemonSetValue, gibibytes, mebibytes, nodeValue, podValue, selecting } from './objects.js';
