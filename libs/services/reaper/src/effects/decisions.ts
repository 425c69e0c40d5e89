import { publishDecision, publishUnavailable, type Channel, type Decision, type UnavailableOffering } from '@dovetail/contracts';
import { labels, nodePriceOf, type NodeClaim } from '@dovetail/core-api';
import { instanceIdOf } from '@dovetail/core-disruption';
import type { StopSignal } from '@dovetail/core-ports';
import { channelOf, source, type ReaperDeps } from '../deps.js';
import { Outbox } from './outbox.js';

/** A fact to tell, without what the teller adds. */
export type Fact = Omit<Decision, 'atMs' | 'source' | 'alternatives' | 'facts' | 'reasons'> & Partial<Pick<Decision, 'facts' | 'reasons' | 'alternatives'>>;

const waitingMax = 1_000;
const toldMax = 10_000;
const retryMs = 2_000;

/** What the reaper tells the bus: decisions, and offerings to avoid. Nothing waits for it; while the bus is away it is kept. */
export class Decisions {
  readonly #deps: ReaperDeps;
  readonly #channel: Channel;
  readonly #outbox: Outbox;
  readonly #told = new Set<string>();

  constructor(deps: ReaperDeps, config: { readonly clusterName: string }) {
    this.#deps = deps;
    this.#channel = channelOf(deps, config);
    this.#outbox = new Outbox({
      clock: deps.clock, waitingMax, retryMs,
      onDropped: (count) => deps.metrics.count('dovetail_decisions_dropped_total', {}, count),
      onError: (key, error) => {
        deps.metrics.count('dovetail_bus_errors_total', { what: 'publish' });
        deps.log.debug('publish-waits', `${key} could not be published: ${String(error)}; trying again`, { key });
      },
    });
  }

  /** Tells a fact once; after a restart it may be told again, under the same id. */
  tell(fact: Fact): void {
    if (this.#told.has(fact.id)) return;
    if (this.#told.size >= toldMax) this.#told.clear();
    this.#told.add(fact.id);
    const decision: Decision = { facts: {}, reasons: [], alternatives: [], ...fact, atMs: this.#deps.clock.nowMs(), source };
    this.#deps.log.info(`decision-${fact.kind}`, fact.summary, { decision: fact.id, claim: fact.claimName, instance: fact.instanceId, reasons: decision.reasons.map(({ code }) => code) });
    this.#outbox.add({ key: fact.id, send: () => publishDecision(this.#channel, decision) });
  }

  /** Says that an offering is to be avoided until a time. */
  avoid(offering: UnavailableOffering): void {
    const key = `avoid/${offering.instanceType}/${offering.zone}/${offering.capacityType}`;
    this.#outbox.add({ key, untilMs: offering.untilMs, send: () => publishUnavailable(this.#channel, offering, { generation: `reaper-${String(offering.untilMs)}` }) });
  }

  waiting(): number { return this.#outbox.waiting(); }
  run(stop: StopSignal): Promise<void> { return this.#outbox.run(stop); }
}

/** What every decision about a claim says of it. */
export function claimFacts(claim: NodeClaim): Pick<Decision, 'pool' | 'claimName' | 'instanceId' | 'instanceType' | 'zone' | 'capacityType' | 'priceMicrosPerHour' | 'priceEstimated' | 'objects'> {
  const type = claim.labels[labels.instanceType];
  const zone = claim.labels[labels.zone];
  const capacity = claim.labels[labels.capacityType];
  const instanceId = instanceIdOf(claim);
  return {
    pool: claim.pool, claimName: claim.name, ...nodePriceOf(claim),
    objects: [{ kind: 'NodeClaim', name: claim.name, uid: claim.uid }, ...(claim.nodeName === undefined ? [] : [{ kind: 'Node', name: claim.nodeName }])],
    ...(instanceId === undefined ? {} : { instanceId }), ...(type === undefined ? {} : { instanceType: type }), ...(zone === undefined ? {} : { zone }),
    ...(capacity === 'spot' || capacity === 'on-demand' || capacity === 'reserved' ? { capacityType: capacity } : {}),
  };
}
