export { connectNats, type NatsBus } from './bus.js';
export { connectService, type SecretFiles, secretsOf } from './connect-service.js';
export { credentialsOf } from './credentials-file.js';
export { type NatsOptions } from './options.js';
export { permissionsOf } from './permissions.js';
export { seedFile, usersFile, writeUsers } from './users.js';
