export * from './clock.js';
export * from './log.js';
export * from './bus.js';
export * from './kube.js';
export * from './resources.js';
export * from './cloud.js';
export * from './leadership.js';
export * from './hash.js';
