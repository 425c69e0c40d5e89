import type { Decision } from '@dovetail/contracts';

/** Why a pod waits, by the last decision about it or the verdict on it. */
export type WaitingWords = {
  /** For people. */
  readonly why: string;
  readonly codes: readonly string[];
  /** The smallest change that would place it, if one is known. */
  readonly remedy?: string;
};

type Told = Pick<Decision, 'reasons'> & {
  readonly summary: string;
  /** Present: the pod is to go there. */
  readonly claimName?: string;
  readonly isAdmitted: boolean;
};

/** The words of a decision about a pod that waits for a node, or of the verdict on it. */
export function waitingWords({ reasons, summary, claimName = '', isAdmitted }: Told): WaitingWords {
  const codes = [...new Set(reasons.map(({ code }) => code))];
  if (isAdmitted) {
    const why = claimName === '' ? summary : `its node is on the way: NodeClaim ${claimName}`;
    return { why, codes };
  }
  const [first] = reasons;
  if (first === undefined) return { why: summary, codes };
  const why = [...new Set(reasons.map(({ message }) => message))].join('; ');
  return { why, codes, ...(first.remedy === undefined ? {} : { remedy: first.remedy }) };
}
