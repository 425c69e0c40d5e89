import { countText, sumOfFills } from '@dovetail/core-fleet/words';
import type { View } from '@dovetail/service-console/view';

import { percentText, priceText } from './words.js';

/** The hours of a month, as AWS counts them for its monthly prices. */
const hoursPerMonth = 730;

/** The cluster in one line: nodes, cost, fill and waiting pods. */
export function Summary({ view }: { readonly view: View }) {
  const nodes = [...view.nodes.values()];
  const micros = nodes.reduce((sum, one) => sum + (one.priceMicrosPerHour ?? 0), 0);
  const isEstimated = nodes.some(({ priceEstimated }) => priceEstimated);
  const about = isEstimated ? '~' : '';
  const month = `${about}$${((micros * hoursPerMonth) / 1e6).toFixed(0)} a month`;
  const facts: readonly (readonly [string, string, string])[] = [
    ['Cost', priceText(micros, isEstimated), month],
    ...leastOf(view),
    ['Nodes', String(nodes.length), statesText(view)],
    ['CPU', percentText(sumOfFills(nodes.map(({ cpu }) => cpu))), 'requested'],
    ['Memory', percentText(sumOfFills(nodes.map(({ memory }) => memory))), 'requested'],
    ['Waiting', countText(view.waiting.total, 'pod'), 'without a node'],
  ];
  return (
    <dl class="summary">
      {facts.map(([name, value, more]) => (
        <div key={name} data-testid={`sum-${name.toLowerCase()}`}>
          <dt>{name}</dt>
          <dd>
            <strong>{value}</strong> <small>{more}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The least possible cost, if it was compared. */
function leastOf({ gap: { last } }: View): readonly (readonly [string, string, string])[] {
  const least = last?.lowerBoundMicrosPerHour;
  if (last === undefined || least === undefined) return [];
  const price = (micros: number): string => priceText(micros, last.priceEstimated);
  return [['Least', price(least), `a plan from nothing: ${price(last.planPriceMicrosPerHour)}`]];
}

const otherStates = ['launching', 'starting', 'not-ready', 'ending'] as const;

function statesText({ nodes }: View): string {
  const counts = otherStates.flatMap((state) => {
    const count = [...nodes.values()].filter((node) => node.state === state).length;
    return count === 0 ? [] : [`${String(count)} ${state.replace('-', ' ')}`];
  });
  return counts.length === 0 ? 'all ready' : counts.join(', ');
}
