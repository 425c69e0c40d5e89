/**
 * The nodes of a cluster as people look at them, for the command line and the console: how full
 * each is, its price, and the next thing that happens to it.
 */
export { Fleet, type FleetKind, type FleetObject, type PodUse, podUseOf } from './fleet.js';
export { type FleetNode, fleetNodeOf, type NodeState, nodeStates, type Use } from './fleet-node.js';
