import type { ReaperDeps } from '../deps.js';
import { Stopper } from '@dovetail/core-ports';

/** Kills the process before or after its n-th effect on the outside: after that nothing of it ever happens again. */
export type Kill = { readonly effect: number; readonly when: 'before' | 'after' };

const kubeWrites = ['create', 'replace', 'patch', 'delete', 'evict', 'bind'];
const effects: Readonly<Record<string, readonly string[]>> = { kube: kubeWrites, cloud: ['terminate', 'tagInstances'], queue: ['delete'], bus: ['publish', 'request'] };

/** Wraps the ports so that every effect is counted, and the one asked for is the last. `stop` is raised when the process is dead. */
export function mortal(deps: ReaperDeps, kill: Kill | undefined): { readonly deps: ReaperDeps; readonly stop: Stopper; readonly effects: () => number } {
  const stop = new Stopper();
  let count = 0;
  const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
  const die = <T>(): Promise<T> => { stop.abort(); return never<T>(); };
  const wrap = <T extends object>(port: T, counted: readonly string[]): T => new Proxy(port, {
    get(target, name) {
      const method = (target as Record<string | symbol, unknown>)[name];
      if (typeof method !== 'function') return method;
      const call = method.bind(target) as (...parameters: unknown[]) => unknown;
      if (!counted.includes(String(name))) return (...parameters: unknown[]) => (stop.aborted && !['connected'].includes(String(name)) ? never() : call(...parameters));
      return async (...parameters: unknown[]) => {
        if (stop.aborted) return never();
        // Events inform, and nothing rests on them: dying beside one is dying between its neighbours.
        if ((parameters[0] as { readonly plural?: string } | undefined)?.plural === 'events') return call(...parameters);
        count += 1;
        if (kill?.effect === count && kill.when === 'before') return die();
        const result = await call(...parameters);
        if (kill?.effect === count && kill.when === 'after') return die();
        return stop.aborted ? never() : result;
      };
    },
  });
  const wrapped: ReaperDeps = {
    ...deps,
    kube: wrap(deps.kube, effects['kube'] ?? []), cloud: wrap(deps.cloud, effects['cloud'] ?? []), bus: wrap(deps.bus, effects['bus'] ?? []),
    ...(deps.queue === undefined ? {} : { queue: wrap(deps.queue, effects['queue'] ?? []) }),
  };
  return { deps: wrapped, stop, effects: () => count };
}
