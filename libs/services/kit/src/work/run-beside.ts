import { type Service, Stopper, type StopSignal } from '@dovetail/core-ports';

/** The same service with one more loop, which ends when the service ends. */
export const runBeside = (
  service: Service,
  loop: (stop: StopSignal) => Promise<void>,
): Service => ({
  run: async (outer) => {
    const stop = new Stopper(outer);
    await Promise.all([service.run(outer).finally(() => stop.abort()), loop(stop)]);
  },
  ready: () => service.ready(),
  debugState: () => service.debugState(),
  ...(service.explain === undefined ? {} : { explain: service.explain }),
});
