import { connectService } from '@dovetail/adapter-nats';
import { type Assembled, runService, type Shell, systemHash } from '@dovetail/runtime';
import { consoleMetrics, createConsole, defaultConsoleConfig } from '@dovetail/service-console';

import { readPage } from './page-files.js';
import { withPage } from './page-server.js';
import { consoleSettings } from './settings.js';

await runService(
  {
    name: 'console',
    purpose: 'shows the cluster on a page; it reads the bus and can change nothing',
    settings: consoleSettings,
    metrics: consoleMetrics,
  },
  assemble,
);

function assemble({ settings, log, metrics, clock }: Shell<typeof consoleSettings>): Assembled {
  const bus = connectService('console', settings, { log, metrics });
  const reader = { bus, cluster: settings.clusterName, hash: systemHash };
  const service = createConsole({ reader, clock, log, metrics }, defaultConsoleConfig);
  const page = readPage(new URL('.', import.meta.url));
  const { pagePort: port, httpHost: host, pagesMax, pageHosts } = settings;
  return {
    service: withPage(service, page, {
      port,
      host,
      hostNames: pageHosts.split(',').filter(Boolean),
      pagesMax,
      log,
    }),
    close: () => bus.close(),
  };
}
