export * from './quantity.js';
export * from './requirement.js';
export * from './pod.js';
export * from './node.js';
