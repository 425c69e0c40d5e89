import { readFileSync, watchFile, writeFileSync } from 'node:fs';

import { stopOnSignals } from '@dovetail/runtime';
import {
  createKubeStore,
  createOffsetClock,
  serveKube,
  startKubeControllers,
} from '@dovetail/sim-kube';

import { required } from './environment.js';

/**
 * Runs the Kubernetes twin as a process of its own: API server, scheduler and controllers in
 * memory.
 */
export async function runKubeTwin(): Promise<void> {
  const clock = createOffsetClock();
  followOffset(required('TEST_CLOCK_FILE'), (byMs) => clock.advance(byMs));
  const store = createKubeStore({ clock, seed: 1 });
  const controllers = startKubeControllers(store, { without: ['nodeLifecycle'] });
  const server = await serveKube(store, { port: Number(required('PORT')) });
  writeFileSync(required('KUBECONFIG_OUT'), server.kubeconfig);
  const stop = stopOnSignals().signal;
  await new Promise<void>((resolve) =>
    stop.addEventListener('abort', () => resolve(), { once: true }),
  );
  controllers.stop();
  await server.close();
}

/** Calls `jumped` with the growth of the offset in the file. */
function followOffset(file: string, jumped: (byMs: number) => void): void {
  let seenMs = 0;
  const look = (): void => {
    const offsetMs = Number(readFileSync(file, 'utf8').trim() || '0');
    if (offsetMs > seenMs) jumped(offsetMs - seenMs);
    seenMs = Math.max(seenMs, offsetMs);
  };
  look();
  watchFile(file, { interval: 100, persistent: false }, look);
}
