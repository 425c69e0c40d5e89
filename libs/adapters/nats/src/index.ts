export { connectNats, type NatsBus } from './bus.js';
export { connectService, type SecretFiles, secretsOf } from './connect-service.js';
export { credentialsOf } from './credentials-file.js';
export { type NatsOptions } from './options.js';
export { type NatsUser, permissionsOf, usersConfig } from './permissions.js';
export { newUserKey, type UserKey, userKeyOf } from './user-keys.js';
