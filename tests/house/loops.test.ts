import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { trackedFiles } from '@dovetail/tools/workspace';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

/**
 * Loops that no limit watches over, and the reason. A turn of all others is given a limit, after
 * which /healthz says that the process is hung (`Vitals`, or `watch` of a WorkQueue).
 */
const unwatched: Readonly<Record<string, string>> = {
  'libs/services/console/src/console.ts': 'it takes events without waiting',
  'libs/services/kit/src/tell/event-recorder.ts': 'the Kubernetes client ends each write',
  'libs/services/kit/src/tell/feed-mirror.ts': 'the bus ends each publish; a backlog is a metric',
  'libs/services/kit/src/tell/outbox.ts': 'the bus ends each publish; what waits is a metric',
  'libs/services/kit/src/tell/outrun-epoch.ts': 'the Kubernetes client ends each write',
  'libs/services/kit/src/watch/watch-served.ts': 'the watch itself is opened again after silence',
  'libs/services/kit/src/work/until-done.ts': 'it waits for what others do, and says so',
  'libs/services/launcher/src/discovery/catalog-stream.ts': 'it takes events without waiting',
  'libs/services/launcher/src/launcher-epoch.ts': 'it waits for lists, and says for which',
  'libs/services/launcher/src/tell/untold-plans.ts': 'it takes events without waiting',
  'libs/services/pod-watcher/src/launcher-reports.ts': 'it takes events without waiting',
  'libs/services/reaper/src/reaper.ts': 'it takes events without waiting',
  'libs/services/solver/src/solver.ts': 'it takes events without waiting',
};

const loops = /while \(!\S*stop\.aborted\)|for await \(/;
const watched = /\bvitals\b|\bnew WorkQueue\b|\btryTurn\b/;
const looping = trackedFiles('libs/services/*.ts').filter(
  (path) =>
    !/\.test\.ts$|\/testing\//.test(path) && loops.test(readFileSync(join(root, path), 'utf8')),
);

test('each loop of a service has a limit for its turns, or a reason to need none', () => {
  const free = looping.filter((path) => !watched.test(readFileSync(join(root, path), 'utf8')));
  expect(free.toSorted()).toEqual(Object.keys(unwatched));
});
