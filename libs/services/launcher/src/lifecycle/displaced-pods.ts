import { type Cluster, isRetiring, livePromise } from '@dovetail/core-cluster';
import { messageOf, type StopSignal, type Vitals } from '@dovetail/core-ports';
import { isTrue, WorkQueue } from '@dovetail/service-kit';

import type { PromiseHolder } from '../admission/promise-writer.js';
import { type FitDeps, podsThatFit, type ReleaseDeps, releaseUnfit } from './pods-that-fit.js';

/** The promises that stand, the checker of their places, and the writer that ends them. */
export type DisplacedPodsDeps = FitDeps &
  ReleaseDeps & { readonly vitals: Vitals; readonly cluster: Cluster };

/**
 * A look at a node reads memory and writes once at most; four leave the API server to launches.
 */
const looksInParallel = 4;
/** The first delay after a failed look, and the longest, as those of other looks at claims. */
const [retryMs, retryMaxMs] = [250, 30_000];

/**
 * Ends the promises of pods whose room on an open node another pod took. They are planned again at
 * once; otherwise they would wait until their promise ends. A node that is still closed is looked
 * after by its placement.
 */
export class DisplacedPods {
  readonly #deps: DisplacedPodsDeps;
  readonly #queue: WorkQueue;

  constructor(deps: DisplacedPodsDeps) {
    this.#deps = deps;
    this.#queue = new WorkQueue({
      clock: deps.clock,
      concurrency: looksInParallel,
      retryMs,
      retryMaxMs,
      watch: { vitals: deps.vitals, name: 'promises' },
      onError: (uid, error, failures) =>
        deps.log.warn(
          'promise-not-ended',
          `the promise of pods that were displaced could not be ended: ${messageOf(error)}; trying again`,
          { node: deps.cluster.nodes.get(uid)?.name ?? uid, failures },
        ),
    });
  }

  /** Looks at every node with promises at first, and then at each that gets another pod. */
  async run(stop: StopSignal): Promise<void> {
    const { cluster } = this.#deps;
    const end = cluster.subscribe(({ kind, uid }) => {
      if (kind === 'pod') this.#podChanged(uid);
    });
    for (const node of cluster.nodes.values())
      if (this.#holdersOf(node.uid).length > 0) this.#queue.add(node.uid);
    await this.#queue.run((uid) => this.#look(uid).then(() => undefined), stop);
    end();
  }

  #podChanged(podUid: string): void {
    const { cluster } = this.#deps;
    const nodeName = cluster.pods.get(podUid)?.nodeName;
    const node = nodeName === undefined ? undefined : cluster.nodes.one('name', nodeName);
    if (node === undefined) return;
    const promised = this.#holdersOf(node.uid).map(
      (holder) => cluster.promises.of(holder.value.uid)?.podUids ?? [],
    );
    if (promised.length > 0 && !promised.flat().includes(podUid)) this.#queue.add(node.uid);
  }

  async #look(nodeUid: string): Promise<void> {
    const { cluster, clock } = this.#deps;
    const node = cluster.nodes.get(nodeUid);
    const claim = node === undefined ? undefined : cluster.claimOfNode(node);
    const isClosed = claim !== undefined && !isTrue(claim.conditions, 'Initialized');
    if (node === undefined || isClosed || isRetiring(node, claim)) return;
    const nowMs = clock.nowMs();
    const held = this.#holdersOf(nodeUid).map((holder) => ({
      holder,
      waiting: livePromise(cluster, holder.value.uid, nowMs)?.waiting ?? [],
    }));
    const fitting = new Set(
      await podsThatFit(
        this.#deps,
        node,
        held.flatMap(({ waiting }) => waiting),
      ),
    );
    for (const { holder, waiting } of held) {
      const unfit = waiting.filter((pod) => !fitting.has(pod));
      await releaseUnfit(this.#deps, { node, holder }, unfit);
    }
  }

  /** The node and its claim, as far as they carry a promise. */
  #holdersOf(nodeUid: string): readonly PromiseHolder[] {
    const { cluster } = this.#deps;
    const node = cluster.nodes.get(nodeUid);
    if (node === undefined) return [];
    const claim = cluster.claimOfNode(node);
    const holders: readonly PromiseHolder[] = [
      { kind: 'Node', value: node },
      ...(claim === undefined ? [] : [{ kind: 'NodeClaim', value: claim } as const]),
    ];
    return holders.filter(({ value }) => cluster.promises.of(value.uid) !== undefined);
  }
}
