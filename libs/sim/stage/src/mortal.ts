import { lookUp } from '@dovetail/core-invariant';
import { type KubeObject, Stopper, type StopSignal, type WorkItem } from '@dovetail/core-ports';

/**
 * The point of a process' death: around its n-th effect (from 1), or around the next effect of this
 * name.
 */
export type Death = { readonly when: 'before' | 'after' } & (
  { readonly at: number } | { readonly effect: string }
);

/**
 * The ports of a process that can die with it, whichever part of a port the process asks for. Other
 * members (clock, log, metrics) pass through unchanged.
 */
export type MortalPorts = {
  readonly kube?: object;
  readonly cloud?: object;
  readonly queue?: object;
  readonly bus?: object;
};

type Name = string | undefined;
type PortName = keyof MortalPorts;
type Ref = { readonly resource: { readonly plural: string } };

/** Names the effect of a call; undefined for a call that nothing depends on. */
const effects: Readonly<
  Record<PortName, Readonly<Record<string, (call: readonly unknown[]) => Name>>>
> = {
  kube: {
    // Nothing depends on an Event, so dying beside one equals dying between its neighbours.
    create: ([resource]) =>
      pluralOf(resource) === 'events' ? undefined : `create ${pluralOf(resource)}`,
    replace: ([resource]) => `replace ${pluralOf(resource)}`,
    patch: ([ref, , options]) =>
      `patch ${pluralOf((ref as Ref).resource)}${isStatus(options) ? '/status' : ''}`,
    delete: ([ref]) => `delete ${pluralOf((ref as Ref).resource)}`,
    evict: () => 'evict',
    bind: () => 'bind',
  },
  cloud: Object.fromEntries(
    [
      'createFleet',
      'ensureLaunchTemplate',
      'deleteLaunchTemplate',
      'tagInstances',
      'terminate',
      'ensureInstanceProfile',
      'deleteInstanceProfile',
    ].map((name) => [name, () => name]),
  ),
  queue: { delete: () => 'delete message' },
  bus: {
    publish: ([message]) => published((message as { readonly subject: string }).subject),
    request: () => 'request',
  },
};
/** Calls that answer with a stream, which falls silent when the process is dead. */
const streams = ['watch', 'follow', 'work'];
/** Calls that wait for the process' stop signal and do nothing themselves. */
const waits = ['connected', 'close'];

const pluralOf = (resource: unknown): string => (resource as { readonly plural: string }).plural;
const isStatus = (options: unknown): boolean =>
  (options as { readonly subresource?: string } | undefined)?.subresource !== undefined;

/** State counts by its kind. Decisions and catalogs only inform, as Events do. */
function published(subject: string): Name {
  const [, , stream, , kind] = subject.split('.');
  if (stream === 'decision' || stream === 'catalog') return undefined;
  return `publish ${(stream === 'state' ? kind : stream) ?? ''}`;
}

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/**
 * One process that can die. Each call of its ports that changes something outside is an effect and
 * is counted. At its death an effect happens (`after`) or not (`before`). From then on no call does
 * anything or answers.
 */
export class Mortal<P extends MortalPorts> {
  /** The process' ports. Give it these instead of the real ones. */
  readonly ports: P;
  /** Raised at death, so that the loops of the dead process leave the clock. */
  readonly stop: Stopper;
  /** Names of the effects so far, in order. */
  readonly effects: string[] = [];
  #death: Death | undefined;
  #dead = false;
  #round: string | undefined;
  #pause: { readonly ended: Promise<void>; readonly end: () => void } | undefined;

  constructor(ports: P, death?: Death, parent?: StopSignal) {
    this.#death = death;
    this.stop = parent === undefined ? new Stopper() : new Stopper(parent);
    const wrapped = (Object.keys(effects) as PortName[])
      .filter((name) => ports[name] !== undefined)
      .map((name) => [name, this.#wrap(name, ports[name] as object)]);
    this.ports = { ...ports, ...(Object.fromEntries(wrapped) as P) };
  }

  dead(): boolean {
    return this.#dead;
  }

  /** Dies now, or around an effect to come. */
  die(death?: Death): void {
    this.#death = death;
    if (death === undefined) this.#end();
  }

  /**
   * Stops at once, as a process that gets no CPU: no call begins or answers until `wake`. A call
   * under way still has its effect.
   */
  pause(): void {
    if (this.#pause !== undefined) return;
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    this.#pause = { ended, end };
  }

  /** Goes on as if no time had passed. */
  wake(): void {
    this.#pause?.end();
    this.#pause = undefined;
  }

  /** Resolves once the process is not paused. Undefined: it is not. */
  paused(): Promise<void> | undefined {
    return this.#pause?.ended;
  }

  /** Renewing a lease is no effect. A write that announces another round is one. */
  #repeats(method: string, [resource, lease]: readonly unknown[]): boolean {
    if (method !== 'replace' || pluralOf(resource) !== 'leases') return false;
    const round = (lease as KubeObject).metadata.annotations?.['dovetail.sh/round'];
    const same = round === this.#round;
    this.#round = round;
    return same;
  }

  #end(): void {
    this.#dead = true;
    this.stop.abort();
  }

  #wrap<T extends object>(portName: PortName, port: T): T {
    return new Proxy(port, {
      get: (target, property) => {
        const name = String(property);
        const method: unknown = Reflect.get(target, property);
        if (typeof method !== 'function') return method;
        const act = method.bind(target) as (...call: unknown[]) => unknown;
        if (waits.includes(name)) return act;
        if (name === 'serve') return this.#serving(act);
        if (streams.includes(name))
          return (...call: unknown[]) => this.#stream(act(...call) as AsyncIterable<unknown>);
        return (...call: unknown[]) => {
          const effect = this.#repeats(name, call)
            ? undefined
            : lookUp(effects[portName], name)?.(call);
          return this.#call(effect, () => act(...call) as Promise<unknown>);
        };
      },
    });
  }

  /** Requests wait for a paused process. */
  #serving(act: (...call: unknown[]) => unknown): (...call: unknown[]) => unknown {
    return (options, handler, stop) =>
      act(
        options,
        async (request: unknown) => {
          await this.paused();
          return (handler as (request: unknown) => unknown)(request);
        },
        stop,
      );
  }

  async #call<T>(effect: Name, act: () => Promise<T>): Promise<T> {
    if (this.#pause !== undefined) await this.#pause.ended;
    if (this.#dead) return never();
    const last = effect !== undefined && this.#isLast(effect);
    if (last && this.#death?.when === 'before') {
      this.#end();
      return never();
    }
    // Calls made while the last effect is under way come too late.
    if (last) this.#dead = true;
    const result = await act();
    if (last) this.#end();
    if (this.#pause !== undefined) await this.#pause.ended;
    return this.#dead ? never() : result;
  }

  #isLast(effect: string): boolean {
    this.effects.push(effect);
    const death = this.#death;
    if (death === undefined) return false;
    return 'at' in death ? death.at === this.effects.length : death.effect === effect;
  }

  async *#stream<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    for await (const item of items) {
      if (this.#pause !== undefined) await this.#pause.ended;
      if (this.#dead) await never();
      yield isWorkItem(item) ? (this.#item(item) as T) : item;
    }
  }

  #item(item: WorkItem): WorkItem {
    return {
      message: item.message,
      deliveries: item.deliveries,
      ack: () => this.#call('ack', () => item.ack()),
      nak: (delayMs) => this.#call(undefined, () => item.nak(delayMs)),
      working: () => this.#call(undefined, () => item.working()),
    };
  }
}

const isWorkItem = (item: unknown): item is WorkItem =>
  typeof (item as { readonly ack?: unknown } | null)?.ack === 'function';
