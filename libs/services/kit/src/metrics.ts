import type { MetricDefinitions } from '@dovetail/core-ports';

/** The metric of calls to the bus that are repeated. */
const busErrorMetrics: MetricDefinitions = {
  dovetail_bus_errors_total: {
    kind: 'counter',
    labels: ['what'],
    help: 'Calls to the bus that failed and are repeated: publish (decisions), state (records that it refused)',
  },
};

/** The metrics of an `Outbox`. */
export const outboxMetrics: MetricDefinitions = {
  ...busErrorMetrics,
  dovetail_decisions_dropped_total: {
    kind: 'counter',
    help: 'Messages that were not published: too many waited, or the bus can never take them',
  },
};

/** The metric of an `EventRecorder`. */
export const eventMetrics: MetricDefinitions = {
  dovetail_events_dropped_total: {
    kind: 'counter',
    help: 'Kubernetes Events that were not written because too many were waiting',
  },
};

/** The metric of a service that gives up claims: `countDisrupted` writes it. */
export const disruptedMetrics: MetricDefinitions = {
  karpenter_nodeclaims_disrupted_total: {
    kind: 'counter',
    labels: ['reason', 'nodepool', 'capacity_type', 'consolidation_policy', 'termination_mode'],
    help: 'NodeClaims that were disrupted, by reason, pool, capacity type, policy of the consolidation that did it, and limit of the drain (graceful: none, eventual, forceful: no drain)',
  },
};

/** The metrics of a service that calls the API server: of its watches, and of its other calls. */
export const kubeMetrics: MetricDefinitions = {
  dovetail_kubernetes_calls_total: {
    kind: 'counter',
    labels: ['call'],
    help: 'Calls to the Kubernetes API, without watches, by the name of the call',
  },
  dovetail_kubernetes_failures_total: {
    kind: 'counter',
    labels: ['reason'],
    help: 'Calls to the Kubernetes API that were refused (kubernetes-denied) or not answered (kubernetes-unreachable), by the name of what was logged',
  },
  dovetail_resource_not_served_total: {
    kind: 'counter',
    labels: ['resource'],
    help: 'Resources that the API server does not serve (a CRD is not installed), by plural',
  },
  dovetail_unreadable_objects_total: {
    kind: 'counter',
    labels: ['kind'],
    help: 'Objects that could not be read, by kind',
  },
  dovetail_watch_errors_total: {
    kind: 'counter',
    labels: ['resource'],
    help: 'Watches that failed and were begun again, by plural',
  },
};

/** The metrics of a `FeedMirror`. */
export const feedMetrics: MetricDefinitions = {
  ...busErrorMetrics,
  dovetail_state_published_total: {
    kind: 'counter',
    labels: ['kind'],
    help: 'Objects published to the state feed, by kind',
  },
  dovetail_state_refused_total: {
    kind: 'counter',
    help: 'Objects that cannot be published as they are',
  },
  dovetail_state_repaired_total: {
    kind: 'counter',
    help: 'Objects that the stream had lost, or held too long, and that were published again',
  },
};

/** The metric of messages that could not be read, for services that follow a stream. */
export const malformedMetrics: MetricDefinitions = {
  dovetail_malformed_messages_total: {
    kind: 'counter',
    labels: ['message', 'field'],
    help: 'Messages that could not be read, by message and field',
  },
};
