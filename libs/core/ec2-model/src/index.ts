export * from './instance-type.js';
export * from './facts.js';
export * from './catalog.js';
export * from './cloud-values.js';
