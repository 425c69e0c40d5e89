import type { CommandRecord } from '@dovetail/core-api';
import type { KubeObject, StopSignal, WatchEvent } from '@dovetail/core-ports';
import { kubeResources } from '@dovetail/core-ports';
import { type WatchDeps, watchServed } from '@dovetail/service-kit';

import { readRecord } from '../outside/command-records.js';

type Seen = { readonly uid: string; readonly record: CommandRecord | undefined };

/**
 * The commands as the reaper's own watch shows them, and those that it has begun or ended since.
 * The watch may lag: each step that changes a command reads it live.
 */
export class KnownCommands {
  readonly #deps: WatchDeps;
  readonly #records = new Map<string, CommandRecord>();
  #isSynced = false;

  constructor(deps: WatchDeps) {
    this.#deps = deps;
  }

  /** Whether the commands of a predecessor are known. */
  isSynced(): boolean {
    return this.#isSynced;
  }

  all(): readonly CommandRecord[] {
    return [...this.#records.values()];
  }

  /** Notes a command that was begun here: the watch will show it. */
  note(record: CommandRecord): void {
    this.#records.set(record.uid, record);
  }

  /** Forgets a command that was ended here, or that is not there any more. */
  forget({ uid }: Pick<CommandRecord, 'uid'>): void {
    this.#records.delete(uid);
  }

  /** Watches until stopped. Where the cluster does not know commands, there are none. */
  watch(onChange: () => void, stop: StopSignal): Promise<void> {
    const resource = kubeResources.disruptions;
    const project = (object: KubeObject): Seen => ({
      uid: object.metadata.uid ?? '',
      record: readRecord(this.#deps.log, object),
    });
    const changed = (event: WatchEvent<Seen>): void => {
      this.#take(event);
      onChange();
    };
    const absent = (): void => {
      this.#records.clear();
      this.#isSynced = true;
      onChange();
    };
    const handler = { event: changed, absent };
    return watchServed(this.#deps, { resource, project, optional: true }, handler, stop);
  }

  #take(event: WatchEvent<Seen>): void {
    if (event.kind === 'synced') this.#isSynced = true;
    if (event.kind === 'gone') this.#records.delete(event.uid);
    if (event.kind !== 'set') return;
    const { uid, record } = event.value;
    if (record === undefined) this.#records.delete(uid);
    else this.#records.set(uid, record);
  }
}
