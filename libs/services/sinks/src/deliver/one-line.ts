import type { Decision } from '@dovetail/contracts';
import { plainText } from '@dovetail/core-kube-model';
import { decisionWords } from '@dovetail/service-kit';

/**
 * A decision in one line, in the words of `dovetail decisions`: kind, cluster and pool, the
 * sentence, the price, and the codes of why something was not done.
 */
export function oneLine(decision: Decision, cluster: string): string {
  const { pool, price, codes } = decisionWords(decision);
  const about = pool === '-' ? cluster : `${cluster}, ${pool}`;
  const facts = [...(price === '-' ? [] : [`$${price}/h`]), ...codes];
  // A program with the rights of a service may have published any text.
  return plainText([`${decision.kind} (${about}): ${decision.summary}`, ...facts].join(' · '));
}
