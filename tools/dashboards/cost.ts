import type { Dashboard } from './grafana.js';
import { increaseOf, ofPool, one, quantilesOf, sumOf } from './query.js';

/** Hours of a month, on average: 365 days of 24 hours in 12 parts. */
const hoursOfMonth = 730;

/** Where the money goes, and how near plans are to the least that is possible. */
export const cost: Dashboard = {
  name: 'cost',
  title: 'Cost and gap',
  about: 'The price of nodes, and how far plans are above a lower bound that was proven.',
  rows: [
    {
      title: 'Price',
      panels: [
        {
          title: 'An hour',
          about:
            'US dollars an hour of the instances of the chosen pools, at the prices of their launch.',
          shape: 'stat',
          unit: 'currencyUSD',
          queries: [one(`sum(karpenter_nodepools_cost_total{${ofPool}})`, 'an hour')],
        },
        {
          title: 'A month',
          about: `The same for ${hoursOfMonth} hours, if nothing changed.`,
          shape: 'stat',
          unit: 'currencyUSD',
          queries: [
            one(`${hoursOfMonth} * sum(karpenter_nodepools_cost_total{${ofPool}})`, 'a month'),
          ],
        },
        {
          title: 'A core',
          about: 'US dollars an hour for each core of the nodes.',
          shape: 'stat',
          unit: 'currencyUSD',
          queries: [
            one(
              `sum(karpenter_nodepools_cost_total{${ofPool}}) / sum(karpenter_nodepools_usage{resource_type="cpu", ${ofPool}})`,
              'a core',
            ),
          ],
        },
      ],
    },
    {
      title: 'By pool',
      panels: [
        {
          title: 'Price by pool',
          about: 'US dollars an hour of the instances of each pool.',
          unit: 'currencyUSD',
          queries: [sumOf('karpenter_nodepools_cost_total', ['nodepool'], ofPool)],
        },
        {
          title: 'Price of a core by pool',
          about: 'US dollars an hour for each core of the nodes of a pool.',
          unit: 'currencyUSD',
          queries: [
            one(
              `sum by (nodepool) (karpenter_nodepools_cost_total{${ofPool}}) / sum by (nodepool) (karpenter_nodepools_usage{resource_type="cpu", ${ofPool}})`,
              '{{nodepool}}',
            ),
          ],
        },
        {
          title: 'Launched, by capacity type',
          about: 'Instances launched, on demand or Spot.',
          emptyUntil: 'an instance is launched',
          queries: [increaseOf('dovetail_instances_launched_total', ['capacity_type'])],
        },
      ],
    },
    {
      title: 'Gap',
      panels: [
        {
          title: 'Price of the cluster beside its bound',
          about:
            'US dollars an hour of all nodes with claims, of a plan from nothing for their pods, and the least that any such plan can cost.',
          unit: 'currencyUSD',
          emptyUntil: 'the reaper has compared the nodes with a plan from nothing (GAP_EVERY)',
          queries: [
            one('max(dovetail_cluster_price_dollars)', 'now'),
            one('max(dovetail_cluster_plan_dollars)', 'from nothing'),
            one('max(dovetail_cluster_bound_dollars)', 'at least'),
          ],
        },
        {
          title: 'Gap of the cluster',
          about:
            'How far the price of all nodes is above the least that their pods would cost: 0.1 is 10 %.',
          unit: 'percentunit',
          emptyUntil: 'the reaper has compared the nodes with a plan from nothing (GAP_EVERY)',
          queries: [
            one(
              'max(dovetail_cluster_price_dollars) / max(dovetail_cluster_bound_dollars) - 1',
              'gap',
            ),
          ],
        },
        {
          title: 'Gap of plans',
          about:
            'How far plans cost above the best lower bound that was proven: 0.1 is 10 %. It covers the last hour.',
          unit: 'percentunit',
          emptyUntil: 'a bound is proven for a plan',
          queries: quantilesOf('dovetail_solver_gap_ratio'),
        },
        {
          title: 'Moves that would save money',
          about: 'Moves that consolidation found, and whether their pools let them be made.',
          emptyUntil: 'a pool asks for consolidation of under-used nodes',
          queries: [
            increaseOf('karpenter_consolidation_moves_total', ['decision', 'policy'], ofPool),
          ],
        },
        {
          title: 'Consolidation',
          about: 'Disruptions that save money, by decision and kind.',
          emptyUntil: 'a node is given up for its cost',
          queries: [
            increaseOf(
              'karpenter_voluntary_disruption_decisions_total',
              ['decision', 'consolidation_type'],
              'consolidation_type!=""',
            ),
          ],
        },
      ],
    },
  ],
};
