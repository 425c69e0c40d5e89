export * from './instance-type.js';
