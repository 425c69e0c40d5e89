import { bus } from './bus.js';
import { cost } from './cost.js';
import { type Dashboard, dashboardJson } from './grafana.js';
import { launches } from './launches.js';
import { overview } from './overview.js';
import { retirements } from './retirements.js';

/** All dashboards, in the order of a first look. */
export const dashboards: readonly Dashboard[] = [overview, cost, launches, retirements, bus];

/** The folders that each dashboard is written to. A chart can only read files of its own. */
const folders = ['deploy/grafana', 'deploy/helm/dovetail/files/dashboards'];

/** The files of all dashboards, by path. */
export const dashboardFiles = (): readonly (readonly [string, string])[] =>
  dashboards.flatMap((dashboard) =>
    folders.map(
      (folder) => [`${folder}/${dashboard.name}.json`, dashboardJson(dashboard)] as const,
    ),
  );
