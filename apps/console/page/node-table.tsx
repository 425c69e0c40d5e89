import type { FleetNode } from '@dovetail/core-fleet';
import { countText } from '@dovetail/core-fleet/words';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

import { GroupLine, HeadLine, NodeLine } from './node-lines.js';
import {
  type NodeOrder,
  nodeOrders,
  rowWindow,
  type TableChoice,
  type TableRow,
  tableRows,
} from './rows.js';

/** Heights of a row, as page.css has them: of a wide page, and of a phone. */
const rowHeights = { wide: 34, narrow: 74 } as const;
/** The width from which a row fits in one line. The same in page.css. */
const narrowQuery = '(max-width: 760px)';

const orderNames: Readonly<Record<NodeOrder, string>> = {
  name: 'name',
  fullest: 'fullest first',
  emptiest: 'emptiest first',
  dearest: 'dearest first',
  oldest: 'oldest first',
  next: 'soonest change first',
};

/** The nodes by pool and zone as they fill. */
export function NodeTable(props: {
  readonly nodes: ReadonlyMap<string, FleetNode>;
  readonly nowMs: number;
  /** Whether no node means that there is none. */
  readonly isEmpty: boolean;
}) {
  const { nodes, nowMs, isEmpty } = props;
  const [choice, setChoice] = useState<TableChoice>({
    filter: '',
    order: 'name',
    closed: new Set(),
  });
  const rows = useMemo(() => tableRows(nodes.values(), choice), [nodes, choice]);
  const toggle = (key: string): void => {
    const closed = new Set(choice.closed);
    if (!closed.delete(key)) closed.add(key);
    setChoice({ ...choice, closed });
  };
  return (
    <section class="nodes" aria-labelledby="nodes">
      <h2 id="nodes" tabIndex={-1}>
        Nodes
      </h2>
      <Choices choice={choice} onChoice={setChoice} />
      <Rows rows={rows} label={countText(nodes.size, 'node')} nowMs={nowMs} onToggle={toggle} />
      {rows.length === 0 && <p class="none">{noneText(nodes.size, isEmpty)}</p>}
    </section>
  );
}

/** The rows of the table. Only those in sight are elements of the page. */
function Rows(props: {
  readonly rows: readonly TableRow[];
  readonly label: string;
  readonly nowMs: number;
  readonly onToggle: (key: string) => void;
}) {
  const { rows, label, nowMs, onToggle } = props;
  const { place, scrollTop, height, onScroll } = useScroll();
  const rowHeight = useNarrow() ? rowHeights.narrow : rowHeights.wide;
  const { first, end } = rowWindow({ count: rows.length, rowHeight, scrollTop, height });
  const tall = { height: `${String(rows.length * rowHeight)}px` };
  const shift = { transform: `translateY(${String(first * rowHeight)}px)` };
  return (
    <div
      class="rows"
      ref={place}
      role="table"
      aria-label={`${label} by pool and zone`}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
      onScroll={onScroll}
    >
      <div role="rowgroup" class="heads">
        <HeadLine />
      </div>
      <div role="rowgroup" style={tall}>
        <div role="presentation" style={shift}>
          {rows.slice(first, end).map((row, index) => {
            // The line of heads is the first row.
            const at = { index: first + index + 2, nowMs };
            return row.kind === 'group' ? (
              <GroupLine key={row.key} group={row} place={at} onToggle={onToggle} />
            ) : (
              <NodeLine key={row.key} node={row.node} place={at} />
            );
          })}
        </div>
      </div>
    </div>
  );
}

function noneText(count: number, isEmpty: boolean): string {
  if (count > 0) return 'No node has these words. Change the filter.';
  return isEmpty
    ? 'Dovetail has no node here. A pod that finds no room brings one.'
    : 'Reading the nodes…';
}

function Choices(props: {
  readonly choice: TableChoice;
  readonly onChoice: (choice: TableChoice) => void;
}) {
  const { choice, onChoice } = props;
  return (
    <form class="choices" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        Filter{' '}
        <input
          type="search"
          placeholder="name, type, pool, zone, spot, ending…"
          value={choice.filter}
          onInput={({ currentTarget }) => onChoice({ ...choice, filter: currentTarget.value })}
        />
      </label>
      <label>
        Order{' '}
        <select
          value={choice.order}
          onChange={({ currentTarget }) => {
            const order = nodeOrders.find((one) => one === currentTarget.value) ?? 'name';
            onChoice({ ...choice, order });
          }}
        >
          {nodeOrders.map((order) => (
            <option key={order} value={order}>
              {orderNames[order]}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}

function useNarrow(): boolean {
  const query = useMemo(() => matchMedia(narrowQuery), []);
  const [narrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const look = (): void => setNarrow(query.matches);
    query.addEventListener('change', look);
    return () => query.removeEventListener('change', look);
  }, [query]);
  return narrow;
}

function useScroll() {
  const place = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [height, setHeight] = useState(0);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    setHeight(element.clientHeight);
    return () => observer.disconnect();
  }, []);
  const onScroll = (): void => setScrollTop(place.current?.scrollTop ?? 0);
  return { place, scrollTop, height, onScroll };
}
