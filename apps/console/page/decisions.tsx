import { periodText } from '@dovetail/core-fleet/words';
import type { DecisionRow } from '@dovetail/service-console/view';
import { useState } from 'preact/hooks';

import { DecisionDetail } from './decision-detail.js';
import { poolText, priceText } from './words.js';

/** The decisions as they come, the newest first. Each opens. */
export function Decisions(props: {
  readonly rows: readonly DecisionRow[];
  readonly nowMs: number;
}) {
  const { rows, nowMs } = props;
  const [open, setOpen] = useState<string | undefined>(undefined);
  return (
    <section class="decisions" aria-labelledby="decisions">
      <h2 id="decisions">Decisions</h2>
      {rows.length === 0 && <p class="none">Nothing was decided in the last 7 days.</p>}
      <ol class="list" tabIndex={rows.length === 0 ? undefined : 0} aria-labelledby="decisions">
        {rows.map((row) => (
          <li key={row.id} class={row.kind}>
            <button
              type="button"
              aria-expanded={open === row.id}
              onClick={() => setOpen(open === row.id ? undefined : row.id)}
            >
              <span class="kind">{row.kind}</span> <span class="summary-text">{row.summary}</span>{' '}
              <small>
                {row.pool === undefined ? '' : `${poolText(row.pool)} · `}
                {row.priceMicrosPerHour === undefined
                  ? ''
                  : `${priceText(row.priceMicrosPerHour, row.priceEstimated)} · `}
                {row.source}, {periodText(Math.max(0, nowMs - row.atMs))} ago
              </small>
            </button>
            {open === row.id && <DecisionDetail id={row.id} />}
          </li>
        ))}
      </ol>
    </section>
  );
}
