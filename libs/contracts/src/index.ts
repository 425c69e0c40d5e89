export * from './messages.js';
export * from './codec/index.js';
