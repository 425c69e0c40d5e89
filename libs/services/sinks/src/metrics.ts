import type { MetricDefinitions } from '@dovetail/core-ports';

/** Every metric that the sinks write. */
export const sinksMetrics: MetricDefinitions = {
  dovetail_sinks_sent_total: {
    kind: 'counter',
    labels: ['sink'],
    help: 'Decisions that the receiver of a sink has taken',
  },
  dovetail_sinks_failed_total: {
    kind: 'counter',
    labels: ['sink', 'reason'],
    help: 'Attempts to deliver a decision that failed: again (it is tried again) or refused (it is not)',
  },
  dovetail_sinks_dead_letters_total: {
    kind: 'counter',
    labels: ['sink', 'reason'],
    help: 'Decisions that a sink has given up and kept as dead letters: refused, too-late or unreadable',
  },
  dovetail_sinks_lag_seconds: {
    kind: 'gauge',
    labels: ['sink'],
    help: 'Age of the oldest decision that a sink has in hand and not delivered, at its last attempt; 0: none',
  },
};
