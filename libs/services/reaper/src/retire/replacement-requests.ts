import { annotations } from '@dovetail/core-api';
import {
  answering,
  asking,
  causeOf,
  type DisruptionNote,
  type NodeView,
  note,
  renderRetirement,
  type Retirement,
  type RetirementAnswer,
  type RetirementChange,
} from '@dovetail/core-disruption';
import type { Node, Pod } from '@dovetail/core-kube-model';

import type { ReaperContext } from '../context.js';
import { kubeBy, type ReaperDeps } from '../deps.js';
import { tellLaunching } from '../outside/disruption-events.js';
import { changeRetirement } from '../outside/node-edits.js';
import type { Asked } from '../outside/plan-requests.js';

type Retired = NodeView & { readonly node: Node };
type Asking = Retired & { readonly retirement: Retirement };

/** A request that is refused, and the retirement that stands on the node since then. */
type RefusedRequest = {
  readonly view: Retired;
  readonly retirement: Retirement;
  readonly note: DisruptionNote;
};

/** Asks solvers to replace nodes that are being retired, and notes their answers on the nodes. */
export class ReplacementRequests {
  readonly #context: ReaperContext;
  /** The retirement as it was written last, by node: the watch may be behind. */
  readonly #written = new Map<string, Retirement>();

  constructor(context: ReaperContext) {
    this.#context = context;
  }

  /**
   * Asks for a place for these pods of the node. It is written first: after a crash in between, a
   * successor waits until no plan of the first asking can arrive any more. Answers whether it was
   * refused.
   */
  async ask(
    view: Asking,
    pods: readonly Pod[],
    deadlineMs: number | undefined,
  ): Promise<RefusedRequest | undefined> {
    const { deps, events } = this.#context;
    const { node } = view;
    const askedMs = deps.clock.nowMs();
    const kube = kubeBy(deps, deadlineMs);
    const { askedMs: lastMs } = view.retirement;
    const retirement = await this.#change(kube, node, asking(askedMs, lastMs));
    if (retirement?.askedMs !== askedMs) return undefined;
    const { cause } = retirement;
    const asked = await this.#context.requests.ask({
      node,
      pods,
      reason: cause,
      isUrgent: deadlineMs !== undefined,
      ...(causeOf(retirement).mayBuy ? {} : { priceBelowMicrosPerHour: 0 }),
    });
    if (asked.kind === 'planned' && asked.buys) tellLaunching(events, node);
    if (asked.kind === 'planned')
      this.#context.cluster.refusedPlans.noteAnswer(node, { askedMs, planId: asked.planId });
    const answer = this.#answerTo(asked, retirement);
    if (answer === undefined) return undefined;
    const standing = await this.#change(kube, node, answering(askedMs, answer));
    return asked.kind === 'refused' && standing !== undefined
      ? { view: withRetirement(view, standing), retirement: standing, note: refusal(node, asked) }
      : undefined;
  }

  /** The retirement of a node, as the watch shows it or as it was written here since. */
  newest({ uid }: Node, seen: Retirement): Retirement {
    const own = this.#written.get(uid);
    if (own?.atMs !== seen.atMs || own.cause !== seen.cause) return seen;
    return (own.askedMs ?? 0) > (seen.askedMs ?? 0) ? own : seen;
  }

  async #change(
    kube: ReaperDeps['kube'],
    node: Node,
    change: RetirementChange,
  ): Promise<Retirement | undefined> {
    const { nodes } = this.#context.cluster;
    const standing = await changeRetirement(kube, nodes.get(node.uid) ?? node, change);
    for (const uid of this.#written.keys())
      if (nodes.get(uid) === undefined) this.#written.delete(uid);
    if (standing === undefined) this.#written.delete(node.uid);
    else this.#written.set(node.uid, standing);
    return standing;
  }

  /** The answer to note; undefined when it may still come. */
  #answerTo(asked: Asked, retirement: Retirement): RetirementAnswer | undefined {
    switch (asked.kind) {
      case 'planned':
        return { answeredMs: this.#context.deps.clock.nowMs(), unplaced: asked.unplaced };
      // A request that no solver took has planned nothing, so it may be repeated soon.
      case 'not-taken':
      case 'refused':
        return this.#askedEarlier(retirement);
      case 'unknown':
        return undefined;
    }
  }

  /** Dated back, so that the next asking is due after the short pause. */
  #askedEarlier({ deadlineMs }: Retirement): RetirementAnswer {
    const { deps, config } = this.#context;
    const { askAgainMs, askAgainUrgentMs, askRetryMs } = config.disruption;
    const againMs = deadlineMs === undefined ? askAgainMs : askAgainUrgentMs;
    return { askedMs: deps.clock.nowMs() - againMs + askRetryMs };
  }
}

const withRetirement = (view: Retired, standing: Retirement): Retired => {
  const written = { [annotations.retirement]: renderRetirement(standing) };
  return { ...view, node: { ...view.node, annotations: { ...view.node.annotations, ...written } } };
};

function refusal(
  { name }: Node,
  { code, message }: Extract<Asked, { readonly kind: 'refused' }>,
): DisruptionNote {
  const why = `the replacement of ${name} cannot be planned: ${code}: ${message}`;
  return note('replacement-refused', why, { node: name, code });
}
