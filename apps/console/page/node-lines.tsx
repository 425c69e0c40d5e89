import type { FleetNode } from '@dovetail/core-fleet';
import { countText, type Fill, periodText, stepText } from '@dovetail/core-fleet/words';

import type { GroupRow } from './rows.js';
import { percentOf, percentText, poolText, priceText } from './words.js';

/** Where a row stands: its number in the whole table, and the console's clock. */
type Place = { readonly index: number; readonly nowMs: number };

/** A share as a bar and a number. */
function Bar({ name, fill }: { readonly name: string; readonly fill: Fill }) {
  const percent = percentOf(fill);
  const level = percent > 100 ? 'over' : percent >= 85 ? 'full' : percent >= 40 ? 'half' : 'low';
  return (
    <span class="fill" role="cell">
      <span class="name">{name}</span>
      <span class="bar" aria-hidden="true">
        <span class={level} style={{ width: `${String(Math.min(100, percent))}%` }} />
      </span>
      <span class="share">
        <span class="hidden">{name} </span>
        {percentText(fill)}
      </span>
    </span>
  );
}

/** The names of the columns, by the classes of their cells. */
const columns = [
  ['what', 'Node'],
  ['type', 'Type'],
  ['fill', 'CPU'],
  ['fill', 'Memory'],
  ['pods', 'Pods'],
  ['price', 'Price'],
  ['age', 'Age'],
  ['next', 'Next'],
] as const;

/** The line above the nodes. A phone has no room to show it, and reads it all the same. */
export function HeadLine() {
  return (
    <div class="row head" role="row" aria-rowindex={1}>
      {columns.map(([cell, name]) => (
        <span key={name} class={cell} role="columnheader">
          {name}
        </span>
      ))}
    </div>
  );
}

/** The nodes of a pool in a zone, together. The button hides and shows them. */
export function GroupLine(props: {
  readonly group: GroupRow;
  readonly place: Place;
  readonly onToggle: (key: string) => void;
}) {
  const { group, place, onToggle } = props;
  const zone = group.zone === '-' ? 'no zone yet' : group.zone;
  return (
    <div class="row group" role="row" aria-rowindex={place.index}>
      <span class="what" role="rowheader">
        <button type="button" aria-expanded={group.isOpen} onClick={() => onToggle(group.key)}>
          {poolText(group.pool)} <span class="zone">{zone}</span>
        </button>
      </span>
      <span class="type" role="cell">
        {countText(group.nodes, 'node')}
      </span>
      <Bar name="CPU" fill={group.cpu} />
      <Bar name="Memory" fill={group.memory} />
      <span class="pods" role="cell" />
      <span class="price" role="cell">
        {priceText(group.priceMicrosPerHour, group.priceEstimated)}
      </span>
      <span class="age" role="cell" />
      <span class="next" role="cell" />
    </div>
  );
}

/** One node. */
export function NodeLine({ node, place }: { readonly node: FleetNode; readonly place: Place }) {
  const age = periodText(Math.max(0, place.nowMs - node.createdMs));
  return (
    <div class={`row node ${node.state}`} role="row" aria-rowindex={place.index}>
      <span class="what" role="rowheader" title={`${node.node} (NodeClaim ${node.claim})`}>
        {node.node}
      </span>
      <span class="type" role="cell">
        {node.instanceType} <small>{node.capacityType}</small>
      </span>
      <Bar name="CPU" fill={node.cpu} />
      <Bar name="Memory" fill={node.memory} />
      <span class="pods" role="cell">
        {countText(node.pods, 'pod')}
      </span>
      <span class="price" role="cell">
        {priceText(node.priceMicrosPerHour, node.priceEstimated)}
      </span>
      <span class="age" role="cell" title={new Date(node.createdMs).toLocaleString()}>
        {age}
      </span>
      <span class="next" role="cell">
        {stepText(node.next, place.nowMs)}
      </span>
    </div>
  );
}
