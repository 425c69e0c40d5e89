export { connectNats, type NatsBus } from './bus.js';
export { credentialsOf } from './credentials-file.js';
export {
  type NatsCredentials,
  type NatsOptions,
  type NatsState,
  natsVersionMin,
} from './options.js';
