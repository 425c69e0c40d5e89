import type {
  AdmissionHead,
  PodPromise,
  StateEvent,
  StateKind,
  StateValue,
} from '@dovetail/contracts';
import {
  Cluster,
  isWaiting,
  KeptRoom,
  type PromisedRoom,
  reservedNow,
} from '@dovetail/core-cluster';
import { EqualParts, isBound, type Pod } from '@dovetail/core-kube-model';

import { CatalogMirror } from './catalog-mirror.js';

/** A place in the state feed. */
export type Position = {
  /** The creation of the stream that the sequence belongs to. */
  readonly incarnation: string;
  readonly sequence: number;
  /** The feed has been read to its end once since it was last lost. */
  readonly caughtUp: boolean;
};

const beginning: Position = { incarnation: '', sequence: 0, caughtUp: false };
const noAdmission: AdmissionHead = { epoch: 0, number: 0 };

/**
 * A solver's copy of the state feed and the catalog. Mutable, and owned by one engine.
 *
 * Invariant: `cluster`, `promises` and `admission` hold the last value of each record up to
 * `position`.
 */
export class Mirror {
  readonly cluster = new Cluster([]);
  /** The nodes of the cluster as planning sees them, kept from plan to plan. */
  readonly room = new KeptRoom(this.cluster);
  /** Promises that hold now, by holder UID. The launcher publishes and ends them. */
  readonly promises = new Map<string, PodPromise>();
  readonly catalog = new CatalogMirror();
  /** Messages that could not be read, by field, for the debug state. */
  readonly malformed = new Map<string, number>();
  readonly #equalParts = new EqualParts();
  #admission = noAdmission;
  #position = beginning;
  #changes = 0;

  /** The last admission seen. */
  get admission(): AdmissionHead {
    return this.#admission;
  }

  /** The last position that was read from the state feed. */
  get position(): Position {
    return this.#position;
  }

  /** Both streams have been read to the end once since they were last lost. */
  get ready(): boolean {
    return this.#position.caughtUp && this.catalog.caughtUp;
  }

  /** Whether the mirror has everything up to this position. */
  reached(position: { readonly incarnation: string; readonly sequence: number }): boolean {
    return (
      this.ready &&
      this.#position.incarnation === position.incarnation &&
      this.#position.sequence >= position.sequence
    );
  }

  /** The room that a claim's or node's published promise keeps. */
  promisedTo(holderUid: string): PromisedRoom {
    const promise = this.promises.get(holderUid);
    const pods = (promise?.podUids ?? []).flatMap((uid) => this.cluster.pods.get(uid) ?? []);
    const podOf = (uid: string): Pod | undefined => this.cluster.pods.get(uid);
    return { pods: pods.filter(isWaiting), reserved: reservedNow(promise ?? {}, podOf) };
  }

  /** The number of events of the state feed so far. While it is the same, so is the mirror. */
  get changes(): number {
    return this.#changes;
  }

  /** Applies one event of the state feed. */
  applyState(event: StateEvent): void {
    this.#changes += 1;
    switch (event.kind) {
      case 'reset':
        return this.#forgetState();
      case 'caught-up':
        this.#position = {
          incarnation: event.position.incarnation,
          sequence: Math.max(this.#position.sequence, event.position.lastSequence),
          caughtUp: true,
        };
        return;
      case 'malformed':
        return this.countMalformed(`${event.subject.split('.')[4] ?? 'state'}.${event.field}`);
      case 'record': {
        this.#position = { ...this.#position, sequence: event.sequence };
        if (event.record.kind === 'set') this.#set(event.record.uid, event.record.state);
        else this.#drop(event.record.stateKind, event.record.uid);
      }
    }
  }

  /** Counts a message that could not be read. */
  countMalformed(field: string): void {
    this.malformed.set(field, (this.malformed.get(field) ?? 0) + 1);
  }

  #forgetState(): void {
    this.cluster.clear();
    this.promises.clear();
    this.#admission = noAdmission;
    this.#position = beginning;
  }

  #set(uid: string, state: StateValue): void {
    if (state.kind === 'admission') this.#admission = state.value;
    else if (state.kind === 'promise') this.promises.set(uid, state.value);
    else if (isOfCluster(state)) this.cluster.replace(state.kind, this.#compact(state));
  }

  /** Pods that have a node, nodes and claims are the many that stay. */
  #compact({ kind, value }: OfCluster): OfCluster['value'] {
    const stays = kind === 'pod' ? isBound(value) : kind === 'node' || kind === 'claim';
    return stays ? this.#equalParts.of(value) : value;
  }

  #drop(kind: StateKind, uid: string): void {
    if (kind === 'admission') this.#admission = noAdmission;
    else if (kind === 'promise') this.promises.delete(uid);
    // A tombstone does not mean that the UID never returns: an unreadable object may be mended.
    else if (kind !== 'pdb' && kind !== 'verdict') this.cluster.forget(kind, uid);
  }
}

type OfCluster = Exclude<StateValue, { kind: 'admission' | 'promise' | 'pdb' | 'verdict' }>;

/** Planning reads neither budgets (the reaper uses them) nor verdicts (pod-watcher does). */
const isOfCluster = (state: StateValue): state is OfCluster =>
  state.kind !== 'pdb' && state.kind !== 'verdict';
