import type { Dashboard } from './grafana.js';
import { increaseOf, one, quantilesOf, rateOf, sumOf } from './query.js';

/** The messages between services, and the solvers' work. */
export const bus: Dashboard = {
  name: 'bus',
  title: 'Bus and solvers',
  about: 'How messages flow over NATS, and how solvers keep up.',
  rows: [
    {
      title: 'Solvers',
      panels: [
        {
          title: 'Wait for a solver',
          about:
            'From the cut of a batch, or a request, to its planning. An alert fires above 10 s.',
          unit: 's',
          emptyUntil: 'pods are planned',
          queries: quantilesOf('dovetail_solver_queue_wait_seconds', { by: ['work'] }),
        },
        {
          title: 'Time of a plan',
          about: 'How long solvers planned, for pending pods or for pods of nodes to give up.',
          unit: 's',
          emptyUntil: 'pods are planned',
          queries: quantilesOf('karpenter_scheduler_scheduling_duration_seconds', {
            by: ['controller'],
          }),
        },
        {
          title: 'Classes of pods in a plan',
          about: 'How many different pods a plan has. Equal pods are one class.',
          emptyUntil: 'pods are planned',
          queries: quantilesOf('dovetail_solver_classes'),
        },
        {
          title: 'Plans that failed',
          about: 'Batches whose planning failed and that were given back.',
          queries: [increaseOf('dovetail_solver_failures_total', [])],
        },
        {
          title: 'Pods without a place',
          about: 'Pods that plans leave without a place, by reason code.',
          emptyUntil: 'a plan leaves a pod out',
          queries: [increaseOf('dovetail_solver_unplaced_total', ['reason'])],
        },
        {
          title: 'Time of a search',
          about: 'How long a search for nodes to give up took.',
          unit: 's',
          emptyUntil: 'a pool asks for consolidation of under-used nodes',
          queries: quantilesOf('dovetail_solver_search_seconds'),
        },
      ],
    },
    {
      title: 'State',
      panels: [
        {
          title: 'Published',
          about: 'Objects published to the state feed in a second, by kind.',
          unit: 'ops',
          queries: [rateOf('dovetail_state_published_total', ['kind'])],
        },
        {
          title: 'To publish',
          about: 'Objects whose newest state the solvers do not have yet.',
          queries: [one('sum(dovetail_state_backlog)', 'objects')],
        },
        {
          title: 'Fill of streams',
          about: 'Share of the room of streams that refuse messages when they are full.',
          unit: 'percentunit',
          emptyUntil: 'pod-watcher has asked NATS once',
          queries: [one('max by (stream) (dovetail_stream_fill_ratio)', '{{stream}}')],
        },
      ],
    },
    {
      title: 'Messages',
      panels: [
        {
          title: 'Calls to the bus that failed',
          about: 'Calls that failed and are repeated, by what they were for.',
          emptyUntil: 'a call fails',
          queries: [increaseOf('dovetail_bus_errors_total', ['what'])],
        },
        {
          title: 'Decisions dropped',
          about: 'Decisions that were not published: too many waited, or NATS can never take them.',
          queries: [increaseOf('dovetail_decisions_dropped_total', [])],
        },
        {
          title: 'Messages that cannot be read',
          about: 'Messages that a service dropped, by message and field.',
          emptyUntil: 'a message cannot be read',
          queries: [increaseOf('dovetail_malformed_messages_total', ['message', 'field'])],
        },
        {
          title: 'State repaired',
          about: 'Objects that the stream had lost or could not take.',
          queries: [
            one('sum(increase(dovetail_state_repaired_total[$__rate_interval]))', 'repaired'),
            one('sum(increase(dovetail_state_refused_total[$__rate_interval]))', 'refused'),
          ],
        },
        {
          title: 'Connections to NATS',
          about: 'Failures of connections, by the name of the log line that has the details.',
          emptyUntil: 'a connection fails',
          queries: [increaseOf('dovetail_nats_failures_total', ['reason'])],
        },
        {
          title: 'Leaders',
          about: 'Whether each service has a leader.',
          queries: [sumOf('dovetail_leader', ['lease'])],
        },
      ],
    },
  ],
};
