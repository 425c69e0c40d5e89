export { createAwsCloud, type AwsCloudOptions } from './cloud.js';
export { createInterruptionQueue, type InterruptionQueueOptions } from './queue.js';
export { renderUserData, userDataRenderer } from './user-data/render.js';
export { accountPaces, defaultCallLimits, type CallKind, type CallLimits, type CallObserver } from './calls.js';
export type { AwsConnection } from './clients.js';
