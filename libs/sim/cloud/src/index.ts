export * from './foundation/account.js';
export { AwsFault } from './foundation/aws-fault.js';
export {
  type Bucket,
  type Buckets,
  type CallCount,
  documentedBuckets,
  type Gate,
  type OrderedFailure,
} from './foundation/gate.js';
export * from './foundation/settings.js';
export { servedActions } from './http/served.js';
export { serveCloud, type ServedCloud, type ServeOptions } from './http/server.js';
export type { CapacityOrder } from './parts/capacity.js';
export type { HealthStatus } from './parts/instances.js';
export type { Notice } from './parts/notices.js';
export * from './port/in-process.js';
export * from './twin/cloud-twin.js';
export { type Machine, podsByInterfaces } from './twin/machine.js';
export {
  type BootConfig,
  bootFromUserData,
  type BootOutcome,
  type UserDataFamily,
} from './user-data/boot.js';
