/**
 * The nodes of a cluster as people look at them, for the command line and the console: how full
 * each is, its price, and the next thing that happens to it.
 */
export { Fleet, type FleetKind, podUseOf } from './fleet.js';
export { type FleetNode, type NodeState, nodeStates } from './fleet-node.js';
export { fleetObjectOf } from './objects.js';
