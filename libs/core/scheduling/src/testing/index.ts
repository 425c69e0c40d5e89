export { nodeOf as existingNodeValue, snapshotOf } from './objects.js';
export { Random } from './random.js';
export { smallWorkloads } from './small.js';
