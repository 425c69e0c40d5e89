import {
  type KubeObject,
  type KubeWatches,
  Stopper,
  type StopSignal,
  type WatchEvent,
} from '@dovetail/core-ports';

type Identity = { readonly uid: string; readonly name: string; readonly namespace?: string };
type Seen<T> = { readonly of: Identity; readonly value: T };
type Options<T> = {
  readonly resource: Parameters<KubeWatches['watch']>[0]['resource'];
  readonly project: (object: KubeObject) => T;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
};

/**
 * Watches of one client that can fall behind and break. A broken watch loses what it had not told,
 * lists again, and reports objects that vanished meanwhile as gone, as after a 410.
 */
export class BrokenWatches {
  readonly #cuts = new Set<Stopper>();
  #stalled = false;
  #waiting: (() => void)[] = [];

  stalled(): boolean {
    return this.#stalled;
  }

  /** No event is told until `resume` or `break`. The watches look healthy meanwhile. */
  stall(): void {
    this.#stalled = true;
  }

  /** Tells what was held back, in order. */
  resume(): void {
    this.#stalled = false;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Drops what was held back, and lists again. */
  break(): void {
    for (const cut of [...this.#cuts]) cut.abort();
    this.resume();
  }

  async *watch<T>(
    kube: KubeWatches,
    options: Options<T>,
    stop: StopSignal,
  ): AsyncGenerator<WatchEvent<T>> {
    const known = new Map<string, Identity>();
    const project = (object: KubeObject): Seen<T> => ({
      of: identityOf(object),
      value: options.project(object),
    });
    while (!stop.aborted) {
      const cut = new Stopper(stop);
      this.#cuts.add(cut);
      try {
        yield* this.#until(kube.watch({ ...options, project }, cut), known, cut);
      } finally {
        this.#cuts.delete(cut);
        cut.abort();
      }
    }
  }

  async *#until<T>(
    events: AsyncIterable<WatchEvent<Seen<T>>>,
    known: Map<string, Identity>,
    cut: StopSignal,
  ): AsyncGenerator<WatchEvent<T>> {
    const listed = new Set<string>();
    for await (const event of events) {
      await this.#flowing(cut);
      if (cut.aborted) return;
      if (event.kind === 'set') {
        const { of, value } = event.value;
        known.set(of.uid, of);
        listed.add(of.uid);
        yield { kind: 'set', value };
      } else {
        if (event.kind === 'gone') known.delete(event.uid);
        if (event.kind === 'synced') yield* vanished(known, listed);
        yield event;
      }
    }
  }

  async #flowing(cut: StopSignal): Promise<void> {
    while (this.#stalled && !cut.aborted)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        cut.addEventListener('abort', resolve, { once: true });
      });
  }
}

function* vanished(
  known: Map<string, Identity>,
  listed: ReadonlySet<string>,
): Generator<WatchEvent<never>> {
  for (const [uid, identity] of known) {
    if (listed.has(uid)) continue;
    known.delete(uid);
    yield { kind: 'gone', ...identity };
  }
}

function identityOf({ metadata: { uid = '', name, namespace } }: KubeObject): Identity {
  return { uid, name, ...(namespace === undefined ? {} : { namespace }) };
}
