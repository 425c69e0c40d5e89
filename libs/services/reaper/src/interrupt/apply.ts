import { publishUnavailable } from '@dovetail/contracts';
import { labels, type NodeClaim } from '@dovetail/core-api';
import { type InterruptionPolicy, note } from '@dovetail/core-disruption';
import { aboutClaim, aboutNode, claimFacts } from '@dovetail/service-kit';

import type { ReaperContext } from '../context.js';
import { channelOf } from '../deps.js';
import type { Retirer } from '../retire/retirer.js';

/** An interruption of the node of a claim. */
export type Interruption = {
  readonly policy: InterruptionPolicy;
  readonly claim: NodeClaim;
  /** Its kind, and since when it stands: together they identify it. */
  readonly notice: { readonly kind: string; readonly timeMs: number };
};

/** Does what the policy calls for. Resolves once the retirement is recorded. */
export async function applyInterruption(
  context: ReaperContext,
  retirer: Retirer,
  interruption: Interruption,
): Promise<void> {
  const { policy, claim, notice } = interruption;
  // EC2 announces our own terminations, too.
  if (policy.ending && claim.deletionMs !== undefined) return;
  // First, because the replacement must not be planned onto what is being taken away.
  if (policy.avoidSpot) avoidSpot(context, claim);
  if (policy.retire !== undefined) {
    const atMs = context.deps.clock.nowMs();
    await retirer.begin(
      context.cluster.viewOf(claim),
      { cause: 'interrupted', atMs, detail: policy.name, ...policy.retire },
      note('interruption-notice', policy.message, { kind: notice.kind }),
    );
  }
  recordEvents(context, interruption);
  tellInterruption(context, interruption);
}

/** Publishes that the claim's type and zone is to be avoided for Spot for a while. */
function avoidSpot({ deps, config, outbox }: ReaperContext, claim: NodeClaim): void {
  const { [labels.instanceType]: instanceType, [labels.zone]: zone } = claim.labels;
  if (instanceType === undefined || zone === undefined) return;
  const untilMs = deps.clock.nowMs() + config.interruption.avoidMs;
  const offering = {
    instanceType,
    zone,
    capacityType: 'spot',
    untilMs,
    awsCode: 'SpotInterruption',
    failures: 1,
  } as const;
  const generation = `reaper-${String(untilMs)}`;
  outbox.add({
    key: `avoid/${instanceType}/${zone}/spot`,
    untilMs,
    send: () => publishUnavailable(channelOf(deps, config), offering, { generation }),
  });
}

function recordEvents({ events, cluster }: ReaperContext, { policy, claim }: Interruption): void {
  const node = cluster.nodeOfClaim(claim);
  for (const about of [aboutClaim(claim), ...(node === undefined ? [] : [aboutNode(node)])]) {
    events.record({ about, type: policy.type, reason: policy.event, message: policy.message });
    if (policy.retire === undefined) continue;
    events.record({
      about,
      type: 'Warning',
      reason: 'TerminatingOnInterruption',
      message: 'Interruption triggered termination for the NodeClaim/Node',
    });
  }
}

function tellInterruption(
  { decisions, cluster }: ReaperContext,
  { policy, claim, notice }: Interruption,
): void {
  const { kind, timeMs } = notice;
  decisions.tell({
    ...claimFacts(claim, cluster.priceNow(claim)),
    id: `interrupt/${claim.uid}/${kind}/${String(timeMs)}`,
    kind: 'interrupt',
    summary: `${cluster.nodeOfClaim(claim)?.name ?? claim.name}: ${policy.message}`,
    reasons: [note('interruption-notice', policy.message, { kind, noticeMs: timeMs })],
    facts: { kind: policy.name, effect: policy.retire === undefined ? 'event' : 'retire' },
  });
}
