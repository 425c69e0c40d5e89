export * from './instance-type.js';
export * from './facts.js';
export * from './catalog.js';
