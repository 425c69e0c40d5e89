import { periodText } from '@dovetail/core-fleet/words';
import type { View } from '@dovetail/service-console/view';

import { CostChart } from './cost-chart.js';
import { Decisions } from './decisions.js';
import { NodeTable } from './node-table.js';
import { Rounds, Services } from './rounds.js';
import { Summary } from './summary.js';
import type { PageState } from './use-page.js';
import { usePage } from './use-page.js';
import { Waiting } from './waiting.js';

/** The console's page. */
export function App() {
  const page = usePage();
  const { view, nowMs } = page;
  const isOld = page.link.kind !== 'open' || view.bus.state !== 'live';
  return (
    <>
      <a class="skip" href="#nodes">
        Skip to the nodes
      </a>
      <header>
        <h1>
          Dovetail <span class="cluster">{view.cluster}</span>
        </h1>
        <p class={`link ${isOld ? 'old' : 'live'}`} role="status" data-testid="link">
          {linkText(page)}
        </p>
        <Summary view={view} />
      </header>
      <main class={isOld ? 'old' : ''}>
        <NodeTable nodes={view.nodes} nowMs={nowMs} isEmpty={view.bus.state !== 'reading'} />
        <CostChart points={view.cost} gap={view.gap} nowMs={nowMs} />
        <Waiting waiting={view.waiting} nowMs={nowMs} />
        <Decisions rows={view.decisions} nowMs={nowMs} />
        <Rounds rows={view.rounds} nowMs={nowMs} />
        <Services rows={view.services} nowMs={nowMs} />
      </main>
    </>
  );
}

/** How fresh the page is, in words. */
function linkText({ link, view, nowMs, lostMs }: PageState): string {
  const since = (ms: number): string => periodText(Math.max(0, nowMs - ms));
  switch (link.kind) {
    case 'connecting':
      return 'Asking the console…';
    case 'refused':
      return `The console has no room for this page: ${link.why}. The page asks again by itself.`;
    case 'resting':
      return 'The page rests while it is hidden.';
    case 'lost':
      return `The console is away for ${since(lostMs)}: the page shows what it last said, and asks again by itself.`;
    case 'open':
      return busText(view, since);
  }
}

function busText({ bus }: View, since: (ms: number) => string): string {
  switch (bus.state) {
    case 'live':
      return 'Live';
    case 'reading':
      return 'Reading the cluster from the bus…';
    case 'away':
      return `The bus is away for ${since(bus.sinceMs)}: the page shows what was last read, and goes on by itself once NATS answers.`;
  }
}
