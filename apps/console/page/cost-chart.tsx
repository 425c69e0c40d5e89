import 'uplot/dist/uPlot.min.css';

import type { CostPoint, GapView } from '@dovetail/service-console/view';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';

import { type CostColumns, costColumns } from './cost-columns.js';
import { gapText, priceText, timeText } from './words.js';

/** The height of the chart in CSS pixels. */
const height = 160;

/** The cost of the cluster over time, above the least that its pods would cost from nothing. */
export function CostChart(props: {
  readonly points: readonly CostPoint[];
  readonly gap: GapView;
  readonly nowMs: number;
}) {
  const { points, gap, nowMs } = props;
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot | undefined>(undefined);
  useEffect(() => {
    const element = place.current;
    return element === null ? undefined : drawn(element, (made) => (chart.current = made));
  }, []);
  const data = costColumns(points, gap.bounds, nowMs);
  useEffect(() => chart.current?.setData(data));
  return (
    <section class="cost" aria-labelledby="cost">
      <h2 id="cost">Cost over time</h2>
      <div class="chart" ref={place} role="img" aria-label={chartText(points, gap)} />
      <p class="note">
        Prices at launch, from the launches and ends that the bus keeps: 7 days.{' '}
        <span data-testid="gap">{gapText(gap.last)}</span>
      </p>
    </section>
  );
}

function chartText(points: readonly CostPoint[], { last: gap }: GapView): string {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return 'The cost is not known yet';
  const all = points.map(([, micros]) => micros);
  const [least, most] = [Math.min(...all), Math.max(...all)].map((one) => priceText(one));
  const bound = gap?.lowerBoundMicrosPerHour;
  return [
    `Now ${priceText(last[1])}`,
    `between ${least ?? ''} and ${most ?? ''} since ${timeText(first[0])}`,
    ...(bound === undefined
      ? []
      : [`the least possible is ${priceText(bound, gap?.priceEstimated)}`]),
  ].join('; ');
}

/** Draws the chart in the colours of the page, anew when these or its width change. */
function drawn(element: HTMLElement, onMade: (chart: UPlot) => void): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let chart: UPlot | undefined;
  const make = (): void => {
    const data = chart?.data ?? ([[], [], []] as CostColumns);
    chart?.destroy();
    chart = new UPlot(optionsOf(element), data, element);
    onMade(chart);
  };
  const observer = new ResizeObserver(() => chart?.setSize({ width: element.clientWidth, height }));
  make();
  observer.observe(element);
  dark.addEventListener('change', make);
  return () => {
    dark.removeEventListener('change', make);
    observer.disconnect();
    chart?.destroy();
  };
}

/** A cost stays as it is until the next launch or end. */
const stepped = UPlot.paths.stepped?.({ align: 1 });

function optionsOf(element: HTMLElement): UPlot.Options {
  const colour = (name: string): string => getComputedStyle(element).getPropertyValue(name).trim();
  const axis = { stroke: colour('--faint'), grid: { stroke: colour('--line'), width: 1 } };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    scales: { y: { range: (_chart, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      axis,
      { ...axis, size: 60, values: (_chart, ticks) => ticks.map((one) => `$${one.toFixed(2)}`) },
    ],
    series: [
      {},
      {
        stroke: colour('--accent'),
        fill: colour('--accent-faint'),
        width: 2,
        ...(stepped === undefined ? {} : { paths: stepped }),
        points: { show: false },
      },
      {
        stroke: colour('--faint'),
        width: 1,
        dash: [6, 4],
        ...(stepped === undefined ? {} : { paths: stepped }),
        points: { show: false },
      },
    ],
  };
}
