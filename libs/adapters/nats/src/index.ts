export { connectNats, type NatsBus } from './bus.js';
export { credentialsOf } from './credentials-file.js';
export { type NatsOptions } from './options.js';
