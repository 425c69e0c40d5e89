/**
 * One mirror of the cluster, and one view of its nodes, for every service and the command line.
 *
 * `Table` and `Cluster` hold objects; `promises` and `retiring` say what binds and what leaves.
 * `existingNodes` turns nodes, claims, pods and promises into the room that planning and judging
 * see.
 */
export {
  type CatalogView,
  claimUsage,
  leastOf,
  type TypesByName,
  typesNamedBy,
  typesOfClaim,
  typesOfPool,
} from './catalog-view.js';
export { type Churn, ChurnGuard } from './churn-guard.js';
export { Cluster, type ClusterChange, type UnreadableObject } from './cluster.js';
export { decidedLabels, nodeInFlight } from './existing-node.js';
export { existingNodes } from './existing-nodes.js';
export { instanceIdOf, instanceIdOfProvider, isUnpaired } from './instance-id.js';
export { KeptNodes } from './kept-nodes.js';
export { KeptRoom } from './kept-room.js';
export {
  classKey,
  type ClusterKind,
  clusterKinds,
  type ClusterValue,
  volumeKinds,
} from './kinds.js';
export { Pauses, type VainWork } from './pauses.js';
export { isStatusChange } from './pool-change.js';
export {
  hasEnded,
  hasExpired,
  isWaiting,
  type LivePromise,
  livePromise,
  type PromisedRoom,
  promisedRoom,
  promiseHolding,
  reservedNow,
  roomFor,
} from './promises.js';
export { isRegistered, isSameTaint, poolOfLabels, registeredTaints } from './registration.js';
export { isBeingDeleted, isRetiring, isTaintedDisrupted } from './retiring.js';
export { byUid, nodesNow, snapshotObjects, snapshotOf, snapshotWithoutNodes } from './snapshot.js';
export { type PoolHold, VainPools } from './vain-pools.js';
export { type LeftOut, VainTypes } from './vain-types.js';
