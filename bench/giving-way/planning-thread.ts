import { Worker } from 'node:worker_threads';

import {
  encodeClassCatalog,
  encodeStateRecord,
  type StateValue,
  subjects,
} from '@dovetail/contracts';
import { ec2NodeClassOf, nodeClaimOf, nodePoolOf } from '@dovetail/core-api';
import { nodeOf, podOf } from '@dovetail/core-kube-model';
import { defaultPlanOptions, defaultSizing } from '@dovetail/core-scheduling';

import { claimManifest, type ClusterSize, nodeManifest, podManifest } from '../stores/manifests.js';
import { classManifest, poolManifest, valueOf } from '../stores/world.js';
import { realTypes } from '../worlds/real-types.js';

const cluster = 'bench';
const file = new URL('../../apps/solver/src/worker.ts', import.meta.url);
/** A thread does not get tsx from its process, so it loads it before the source. */
const code = `import(${JSON.stringify(import.meta.resolve('tsx/esm/api'))})
  .then(({ register }) => (register(), import(${JSON.stringify(file.href)})))`;

type Reply = { readonly id: number; readonly ok: boolean; readonly value: unknown };

/** The planning thread of a solver, asked as its main thread asks it. */
export class PlanningThread {
  readonly #worker: Worker;
  readonly #asked = new Map<number, (value: unknown) => void>();
  #next = 0;
  #sequence = 0;

  constructor() {
    const { preferencePolicy, minValuesPolicy, hostnameSpread } = defaultPlanOptions;
    const rules = { ...defaultSizing, preferencePolicy, minValuesPolicy, hostnameSpread };
    const offset = new SharedArrayBuffer(4);
    const workerData = { cluster, solver: 'one', offset, rules };
    this.#worker = new Worker(code, { eval: true, workerData });
    this.#worker.on('message', (reply: Reply) => {
      if (!reply.ok) throw new Error(`the planning thread failed: ${JSON.stringify(reply)}`);
      this.#asked.get(reply.id)?.(reply.value);
    });
    this.#worker.on('error', (error) => {
      throw error;
    });
  }

  /** Resolves with the answer. */
  ask(question: object): Promise<unknown> {
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#asked.set(id, resolve);
      this.#worker.postMessage({ ...question, id });
    });
  }

  /** Asks for the plan of a batch of these pods, as of all that was told. */
  batch(podUids: readonly string[], budgetMs: number): Promise<unknown> {
    const batch = {
      group: 'g',
      podUids,
      round: '1.1',
      statePosition: { incarnation: 'one', sequence: this.#sequence },
      cutAtMs: Date.now(),
      youngestMs: Date.now(),
    };
    return this.ask({ kind: 'batch', batch, budgetMs });
  }

  /** Tells of a state, as the feed does. */
  tell(state: StateValue): void {
    const { uid } = state.value as { readonly uid: string };
    this.#deliver('state', {
      subject: subjects.state(cluster, state.kind, uid),
      payload: encodeStateRecord({ kind: 'set', uid, state, generation: '1.1' }),
      sequence: (this.#sequence += 1),
    });
  }

  /** Tells of nodes with ten pods each, with room for one more, and of the types of a region. */
  fill(size: ClusterSize): void {
    for (let index = 0; index < size.nodes * size.podsPerNode; index += 1) {
      const raw = podManifest(index, Math.floor(index / size.podsPerNode));
      this.tell({ kind: 'pod', value: valueOf(podOf(raw)) });
    }
    for (let index = 0; index < size.nodes; index += 1) {
      this.tell({ kind: 'node', value: valueOf(nodeOf(nodeManifest(index))) });
      this.tell({ kind: 'claim', value: valueOf(nodeClaimOf(claimManifest(index, size))) });
    }
    this.tell({ kind: 'pool', value: { ...valueOf(nodePoolOf(poolManifest())), ready: true } });
    this.tell({ kind: 'nodeclass', value: valueOf(ec2NodeClassOf(classManifest())) });
    const part = { classUid: 'class-1', revision: 'r1', part: 0, parts: 1 };
    this.#deliver('catalog', {
      subject: subjects.classCatalog(cluster, 'class-1', 0),
      payload: encodeClassCatalog({ ...part, instanceTypes: realTypes(Infinity) }),
      sequence: 1,
    });
    const position = { incarnation: 'one', lastSequence: this.#sequence };
    for (const kind of ['state', 'catalog'])
      this.#worker.postMessage({ kind, event: { kind: 'caught-up', position } });
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    this.#worker.removeAllListeners('error');
    await this.#worker.terminate();
  }

  #deliver(
    kind: 'state' | 'catalog',
    message: { readonly subject: string; readonly payload: Uint8Array; readonly sequence: number },
  ): void {
    const event = { kind: 'message', message: { ...message, headers: {}, timeMs: Date.now() } };
    this.#worker.postMessage({ kind, event });
  }
}
