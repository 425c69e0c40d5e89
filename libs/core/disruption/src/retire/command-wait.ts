/** The time that each node that goes adds to the wait of all of them (Karpenter's). */
const perNodeMs = 80;
/** The longest wait, whatever goes (Karpenter's). */
const waitMsMax = 3_600_000;

/**
 * How long a command waits for its replacements while so many nodes go. Many replacements at once
 * take EC2 and the API server longer (Karpenter's GetMaxRetryDuration). `waitMsMin`: the wait of
 * few.
 */
export const commandWaitMs = (waitMsMin: number, nodes: number): number =>
  Math.max(waitMsMin, Math.min(perNodeMs * nodes, waitMsMax));
