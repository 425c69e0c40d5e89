export * from './pool.js';
export * from './node-class.js';
export * from './claim.js';
export * from './names.js';
export * from './promise.js';
