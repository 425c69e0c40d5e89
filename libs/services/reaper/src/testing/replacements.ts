import {
  type GapReply,
  type PlanMessage,
  type PlanRequest,
  type SearchReply,
  type SearchRequest,
  servePlanner,
  workPlans,
} from '@dovetail/contracts';
import { annotations, renderPromise } from '@dovetail/core-api';
import { kubeResources, Stopper } from '@dovetail/core-ports';
import type { Plan } from '@dovetail/core-scheduling';
import type { ReadyNodeOptions } from '@dovetail/sim-stage';

import type { ReaperStage } from './reaper-stage.js';

type ReplacementOptions = {
  readonly afterMs: number;
  /** How long the solver takes for its answer. */
  readonly thinkMs?: number;
  /** Whether there is room on the node `n2`: always, or for the n-th request (from 1). */
  readonly room?: boolean | ((request: number) => boolean);
  /** The pods that the launcher admits of the n-th request (from 1); default: all. */
  readonly admits?: (podUids: readonly string[], request: number) => readonly string[];
  /** The pods that the solver has a place for; default: all. */
  readonly places?: (podUids: readonly string[]) => readonly string[];
  /** Whether the solver has no place for any pod of a request, and says so. */
  readonly isPlaceless?: (request: PlanRequest) => boolean;
  /** Whether the solver refuses a request. */
  readonly refuses?: (request: PlanRequest) => boolean;
  readonly node?: ReadyNodeOptions;
  /** Whether the launcher admits the plans of commands; default: it does. */
  readonly admitsCommands?: boolean;
  /** The price of a new node in micro-dollars an hour; default: 96,000. */
  readonly priceMicrosPerHour?: number;
  /** The new nodes that the pods are shared among; default: one. Each costs the price above. */
  readonly nodesIn?: number;
  /** The answer to a question for the gap; undefined: it is refused. */
  readonly gap?: () => GapReply | undefined;
  /** The commands that a search finds; default: none. */
  readonly finds?: (search: SearchRequest) => SearchReply['commands'];
};

/**
 * Plays solvers and the launcher for replacements: every pod goes to one new node, which is there
 * after a while.
 */
export class Replacements {
  readonly requests: PlanRequest[] = [];
  readonly searches: SearchRequest[] = [];
  /** The questions for the gap so far. */
  gaps = 0;
  readonly made: string[] = [];
  readonly plans: PlanMessage[] = [];
  readonly #cluster: ReaperStage;
  readonly #stop = new Stopper();

  constructor(cluster: ReaperStage, options: ReplacementOptions) {
    this.#cluster = cluster;
    void this.#followPlans(options);
    void servePlanner(
      cluster.channelOf('solver'),
      async (_mode, request) => {
        if (request.search !== undefined) return this.#found(request.search, options);
        if (request.gap === true) return this.#gap(options);
        this.requests.push(request);
        await this.#cluster.clock.sleep(options.thinkMs ?? 0, this.#stop);
        if (options.refuses?.(request) === true)
          return { ok: false, code: 'failed', message: 'the plan broke a rule' };
        const admitted = options.admits?.(request.podUids, this.requests.length);
        const taken = { ...request, podUids: admitted ?? request.podUids };
        const room = hasRoom(options, this.requests.length);
        if (taken.podUids.length > 0)
          void (room ? this.#place(taken) : this.#launch(taken, options));
        return {
          ok: true,
          reply: {
            planId: planIdOfRequest(this.requests.length),
            plan:
              options.isPlaceless?.(request) === true
                ? placeless(request)
                : planFor(
                    { podUids: options.places?.(request.podUids) ?? request.podUids },
                    { ...options, room },
                    this.#cluster.find(kubeResources.nodes, 'n2')?.metadata.uid,
                  ),
            // The feed moves on with every taint.
            statePosition: { incarnation: 'one', sequence: this.requests.length },
          },
        };
      },
      this.#stop,
    );
  }

  #gap({ gap: answer }: ReplacementOptions) {
    this.gaps += 1;
    const gap = answer?.();
    if (gap === undefined) return { ok: false, code: 'busy', message: 'it is busy' } as const;
    return { ok: true, gap } as const;
  }

  #found(search: SearchRequest, { finds }: ReplacementOptions) {
    this.searches.push(search);
    const commands = finds?.(search) ?? [];
    return { ok: true, found: { commands, complete: true, tries: 1 } } as const;
  }

  /** Plays the launcher for the plans of commands: all of a plan comes true, or nothing. */
  async #followPlans(options: ReplacementOptions): Promise<void> {
    const channel = this.#cluster.channelOf('launcher');
    for await (const { item, read } of workPlans(channel, this.#stop)) {
      await item.ack();
      if (!read.ok || read.value.cause.kind !== 'replacement') continue;
      const { id, cause, plan } = read.value;
      this.plans.push(read.value);
      if (options.admitsCommands === false) continue;
      for (const { id: binId, podUids } of plan.newNodes) {
        const claimAnnotations = {
          [annotations.admission]: `1.1/${id}/${binId}`,
          [annotations.maxPricePerHour]: '0.096000',
        };
        void this.#launch(
          { podUids, withoutNodes: [], budgetMs: 0, commit: cause },
          { ...options, node: { ...options.node, claimAnnotations } },
        );
      }
    }
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Keeps room for the pods on the node `n2`. */
  async #place(request: PlanRequest): Promise<void> {
    const text = this.#promiseFor(request);
    if (text === undefined) return;
    await this.#cluster.kube.patch(
      { resource: kubeResources.nodes, name: 'n2' },
      { type: 'merge', body: { metadata: { annotations: { [annotations.promise]: text } } } },
    );
  }

  #promiseFor({ commit, podUids }: PlanRequest): string | undefined {
    if (commit === undefined) return undefined;
    return renderPromise({
      podUids: [],
      admission: '1.1',
      replaces: { nodeName: commit.nodeName, nodeUid: commit.nodeUid },
      reserved: { cpu: 1000 },
      forPodUids: podUids,
      // As the launcher's `replacementPromiseMs`.
      untilMs: this.#cluster.clock.nowMs() + 600_000,
    });
  }

  async #launch(
    request: PlanRequest,
    options: { readonly afterMs: number; readonly node?: ReadyNodeOptions },
  ): Promise<void> {
    if (request.commit === undefined) return;
    await this.#cluster.clock.sleep(options.afterMs, this.#stop);
    const name = `new-${String(this.made.length + 1)}`;
    this.made.push(name);
    const promise = this.#promiseFor(request) ?? '';
    await this.#cluster.node(name, {
      ...options.node,
      claimAnnotations: { ...options.node?.claimAnnotations, [annotations.promise]: promise },
    });
  }
}

/** The id of the plan that answers the n-th request (from 1). */
export const planIdOfRequest = (request: number): string => `plan-${String(request)}`;

const hasRoom = ({ room = false }: ReplacementOptions, request: number): boolean =>
  typeof room === 'boolean' ? room : room(request);

const placeless = ({ podUids }: PlanRequest): Plan => ({
  ...planFor({ podUids: [] }, { afterMs: 0, room: true }),
  placements: [],
  unplaced: podUids.map((podUid) => ({ podUid, reasons: [] })),
});

type Planned = Omit<ReplacementOptions, 'room'> & { readonly room: boolean };

function planFor(
  request: Pick<PlanRequest, 'podUids'>,
  { room, priceMicrosPerHour = 96_000, nodesIn = 1 }: Planned,
  nodeUid = 'uid',
): Plan {
  const placement = { nodeName: 'n2', nodeUid, podUids: request.podUids, topologyGroups: [] };
  const option = {
    instanceType: 'm5.large',
    zone: 'us-west-2a',
    capacityType: 'on-demand',
    priceMicrosPerHour,
  } as const;
  const share = Math.ceil(request.podUids.length / nodesIn);
  const newNodes = Array.from({ length: nodesIn }, (_none, index) => ({
    id: `bin-${String(index)}`,
    pool: { kind: 'NodePool', name: 'default' } as const,
    options: [option],
    requirements: [],
    labels: {},
    taints: [],
    requests: {},
    podUids: request.podUids.slice(index * share, (index + 1) * share),
    topologyGroups: [],
    minValuesRelaxed: false,
    notes: [],
  }));
  return {
    stateSequence: 1,
    catalogRevision: 'one',
    admissionHead: '1.1',
    seed: 1,
    steps: 0,
    newNodes: room ? [] : newNodes,
    placements: room ? [placement] : [],
    unplaced: [],
    priceMicrosPerHour: room ? 0 : priceMicrosPerHour * nodesIn,
    bound: { kind: 'none', priceMicrosPerHour: 0 },
    stats: { pods: request.podUids.length, classes: 1, instanceTypes: 1 },
  };
}
