export { at, float64At, int32At, numberAt, present, uint8At } from './access.js';
export { assert, InvariantError } from './assert.js';
export { lookUp, put } from './record.js';
