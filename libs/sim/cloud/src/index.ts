export * from './foundation/account.js';
export * from './foundation/settings.js';
export { servedActions } from './http/served.js';
export { serveCloud, type ServeOptions } from './http/server.js';
export { accountPolicy } from './parts/account-policy.js';
export * from './port/in-process.js';
export * from './twin/cloud-twin.js';
export { type Machine } from './twin/machine.js';
export { type BootConfig, bootFromUserData } from './user-data/boot.js';
