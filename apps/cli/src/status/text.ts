import { countText, periodText } from '@dovetail/core-fleet/words';
import { lagWords } from '@dovetail/service-kit';

import { columns, type Layout } from '../layout/columns.js';
import type { Fill, NodesStatus, ServiceStatus, Status } from './status.js';

/** The hours of a month, as AWS counts them for its monthly prices. */
const hoursPerMonth = 730;
/** More waiting pods than this are counted, not listed. JSON has them all. */
const waitingMax = 20;

/** A status for people. Only a terminal gives a width. */
export function statusText(status: Status, layout: Layout = {}): string {
  return [
    headline(status) + gapLine(status),
    section('SERVICES', services(status.services, layout) + solversLine(status)),
    section('POOLS', pools(status.pools, layout)),
    section('WAITING PODS', waiting(status, layout)),
    section('LAST ROUNDS', rounds(status, layout)),
  ].join('\n');
}

const section = (title: string, text: string): string => `${title}\n${text}`;

const dollars = (micros: number, digits: number): string => `$${(micros / 1e6).toFixed(digits)}`;

function headline({ total, waiting: pods }: Status): string {
  const { priceMicrosPerHour: micros, priceEstimated, unpriced } = total;
  const about = priceEstimated ? '~' : '';
  const price = `${about}${dollars(micros, 4)}/h (${about}${dollars(micros * hoursPerMonth, 0)} a month)`;
  const without =
    unpriced === 0 ? '' : `, without ${countText(unpriced, 'claim')} of unknown price`;
  const wait =
    pods.length === 0 ? 'no pod waits' : `${countText(pods.length, 'pod')} without a node`;
  return `${countText(total.nodes, 'node')}, ${price}${without}; ${wait}\n`;
}

/** The price of a plan from nothing for the pods of the nodes, if it was compared. */
function gapLine({ gap }: Status): string {
  if (gap === undefined) return '';
  const { planNodes, planPriceMicrosPerHour, lowerBoundMicrosPerHour: least, podsUnplaced } = gap;
  const about = gap.priceEstimated ? '~' : '';
  return [
    `from nothing: ${about}${dollars(planPriceMicrosPerHour, 4)}/h on ${countText(planNodes, 'node')}`,
    ...(least === undefined ? [] : [`at least ${about}${dollars(least, 4)}/h`]),
    ...(podsUnplaced === 0 ? [] : [`without ${countText(podsUnplaced, 'pod')}`]),
    `${periodText(gap.msAgo)} ago\n`,
  ].join(', ');
}

function services(all: readonly ServiceStatus[], layout: Layout): string {
  if (all.length === 0)
    return 'no Lease of a Dovetail service: none has run here, or --namespace names another place\n';
  const rows = all.map(({ name, namespace, leader, renewedMsAgo, overdue }) => [
    name,
    namespace,
    renewedMsAgo === undefined ? '-' : `${periodText(renewedMsAgo)} ago`,
    leader === undefined
      ? 'none: no replica leads'
      : overdue
        ? `none: ${leader} no longer renews its Lease`
        : leader,
  ]);
  return columns(['SERVICE', 'NAMESPACE', 'RENEWED', 'LEADER'], rows, layout);
}

/** Solvers have no Lease: any number of them share the work. */
const solversLine = ({ batches }: Status): string =>
  batches === undefined ? '' : `solvers: ${lagWords(batches)}\n`;

const percent = ({ requested, allocatable }: Fill): string =>
  allocatable === 0 ? '-' : `${String(Math.round((requested / allocatable) * 100))} %`;

const priceText = ({ priceMicrosPerHour, priceEstimated }: NodesStatus): string =>
  `${priceEstimated ? '~' : ''}${(priceMicrosPerHour / 1e6).toFixed(4)}`;

function pools(all: Status['pools'], layout: Layout): string {
  if (all.length === 0) return 'no NodePool, and no node of ours\n';
  const rows = all.map((one) => [
    one.pool.replace(/^NodePool\//, ''),
    String(one.nodes),
    String(one.readyNodes),
    String(one.launching),
    String(one.ending),
    percent(one.cpu),
    percent(one.memory),
    priceText(one),
  ]);
  const header = ['POOL', 'NODES', 'READY', 'LAUNCHING', 'ENDING', 'CPU', 'MEMORY', 'PRICE $/H'];
  return columns(header, rows, layout);
}

function waiting({ waiting: pods }: Status, layout: Layout): string {
  if (pods.length === 0) return 'every pod has a node\n';
  const rows = pods
    .slice(0, waitingMax)
    .map(({ pod, waitingMs, why }) => [pod, periodText(waitingMs), why]);
  const more = pods.length - rows.length;
  return (
    columns(['POD', 'WAITS', 'WHY'], rows, layout) +
    (more === 0 ? '' : `and ${countText(more, 'more pod')}: -o json lists all\n`)
  );
}

const microsText = (micros: number | undefined): string =>
  micros === undefined ? '-' : (micros / 1e6).toFixed(4);

function rounds({ rounds: all, decisionsUnread }: Status, layout: Layout): string {
  const unread = decisionsUnread === undefined ? '' : `not read: ${decisionsUnread}\n`;
  if (all === undefined) return unread || 'not read\n';
  // Nothing can be said of what was not read.
  if (all.length === 0) return unread || `nothing was planned or ended in the last 7 days\n`;
  const rows = all.map((round) => [
    `${periodText(round.msAgo)} ago`,
    round.kind,
    microsText(round.priceMicrosPerHour),
    microsText(round.lowerBoundMicrosPerHour),
    round.summary,
  ]);
  return unread + columns(['WHEN', 'KIND', 'PRICE $/H', 'LEAST $/H', 'SUMMARY'], rows, layout);
}
