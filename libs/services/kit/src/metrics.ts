/** The metrics that the kit writes, with their help texts; every service that uses it has them. */
export const kitMetrics: Readonly<Record<string, { readonly help: string }>> = {
  dovetail_bus_errors_total: { help: 'Calls to the bus that failed and are repeated' },
  dovetail_decisions_dropped_total: {
    help: 'Messages that were not published: too many waited, or the bus can never take them',
  },
  dovetail_events_dropped_total: {
    help: 'Kubernetes Events that were not written because too many were waiting',
  },
  dovetail_resource_not_served_total: {
    help: 'Resources that the API server does not serve (a CRD is not installed), by plural',
  },
  dovetail_unreadable_objects_total: { help: 'Objects that could not be read, by kind' },
  dovetail_watch_errors_total: { help: 'Watches that failed and were begun again, by plural' },
};

/** The metrics of a `FeedMirror`. */
export const feedMetrics: Readonly<Record<string, { readonly help: string }>> = {
  dovetail_state_published_total: { help: 'Objects published to the state feed, by kind' },
  dovetail_state_refused_total: { help: 'Objects that cannot be published as they are' },
  dovetail_state_repaired_total: {
    help: 'Objects that the stream had lost, or held too long, and that were published again',
  },
};

/** The metric of messages that could not be read, for services that follow a stream. */
export const malformedMetrics: Readonly<Record<string, { readonly help: string }>> = {
  dovetail_malformed_messages_total: {
    help: 'Messages that could not be read, by message and field',
  },
};
