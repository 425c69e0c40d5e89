/**
 * The client for programs: `decisions` reads them in order, `takeDecisions` hands each out until it
 * is acked, and `clusterState` follows the cluster as the services see it.
 */
export type { BusAddress, NatsCredentials } from './address.js';
export { clusterState, type StateSource } from './cluster-state.js';
export { decisions, type DecisionSource } from './decisions.js';
export { takeDecisions, type TakenDecision, type TakeSource } from './take-decisions.js';
export {
  type Decision,
  type DecisionEvent,
  type DecisionKind,
  decisionKinds,
  type FollowDecisionsOptions,
  type MalformedMessage,
  type StateEvent,
  type StateKind,
} from '@dovetail/contracts';
export type { CloudEvent, StopSignal } from '@dovetail/core-ports';
