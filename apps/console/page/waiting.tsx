import { countText, periodText } from '@dovetail/core-fleet/words';
import type { View } from '@dovetail/service-console/view';

/** The pods that wait for a node, with the reason and the smallest change that would help. */
export function Waiting(props: { readonly waiting: View['waiting']; readonly nowMs: number }) {
  const { waiting, nowMs } = props;
  const more = waiting.total - waiting.rows.length;
  return (
    <section class="waiting" aria-labelledby="waiting">
      <h2 id="waiting">Pods without a node</h2>
      {waiting.total === 0 && <p class="none">Every pod has a node.</p>}
      <ul class="list" tabIndex={waiting.total === 0 ? undefined : 0} aria-labelledby="waiting">
        {waiting.rows.map((row) => (
          <li key={row.uid}>
            <p class="head">
              <strong>{row.pod}</strong>{' '}
              <small>waits {periodText(Math.max(0, nowMs - row.sinceMs))}</small>
            </p>
            <p>{row.why}</p>
            {row.remedy !== undefined && <p class="remedy">Would help: {row.remedy}</p>}
          </li>
        ))}
      </ul>
      {more > 0 && <p class="none">And {countText(more, 'more pod')}.</p>}
    </section>
  );
}
