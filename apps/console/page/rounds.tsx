import { periodText } from '@dovetail/core-fleet/words';
import type { RoundRow, ServiceRow } from '@dovetail/service-console/view';

import { priceText } from './words.js';

const agoText = (atMs: number, nowMs: number): string =>
  `${periodText(Math.max(0, nowMs - atMs))} ago`;

/** The last plans of the solvers, with the price and the least possible one. */
export function Rounds({
  rows,
  nowMs,
}: {
  readonly rows: readonly RoundRow[];
  readonly nowMs: number;
}) {
  return (
    <section class="rounds" aria-labelledby="rounds">
      <h2 id="rounds">Rounds of the solvers</h2>
      {rows.length === 0 && <p class="none">Nothing was planned in the last 7 days.</p>}
      <ul class="list" tabIndex={rows.length === 0 ? undefined : 0} aria-labelledby="rounds">
        {rows.toReversed().map((row) => (
          <li key={row.id}>
            <p class="head">
              <strong>
                {row.priceMicrosPerHour === 0 ? 'no node' : priceText(row.priceMicrosPerHour)}
              </strong>{' '}
              {row.lowerBoundMicrosPerHour !== undefined && (
                <span>least possible {priceText(row.lowerBoundMicrosPerHour)}</span>
              )}{' '}
              <small>
                {agoText(row.atMs, nowMs)}
                {row.solveMs === undefined ? '' : `, took ${String(row.solveMs)} ms`}
              </small>
            </p>
            <p>{row.summary}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The services by their signs on the bus. */
export function Services(props: { readonly rows: readonly ServiceRow[]; readonly nowMs: number }) {
  const { rows, nowMs } = props;
  return (
    <section class="services" aria-labelledby="services">
      <h2 id="services">Services</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Service</th>
            <th scope="col">Last sign</th>
            <th scope="col">Epoch</th>
            <th scope="col">Work</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              <td>{row.lastMs === undefined ? '–' : agoText(row.lastMs, nowMs)}</td>
              <td>{row.epoch ?? '–'}</td>
              <td>{row.work}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note">
        A service shows on the bus when it has something to say. The names of leaders are not on the
        bus: <code>dovetail status</code> reads them from the Leases.
      </p>
    </section>
  );
}
