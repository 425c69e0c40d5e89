import type { CommandPhase } from '@dovetail/core-api';
import { at } from '@dovetail/core-invariant';

import { type DisruptionNote, note } from '../facts/refusal.js';
import type { RetirementStep } from './retirement.js';

/** A node of a command, as the API server has it. */
export type CommandMember =
  /** It ends already, by this command or for another cause, or it is not there any more. */
  | { readonly kind: 'gone' }
  /** It does not carry the command's name: it is a node like any other. */
  | { readonly kind: 'free' }
  /** It carries the command's name. `step` is what its own retirement would do next. */
  | { readonly kind: 'marked'; readonly step: RetirementStep };

/** The next step of a command of several nodes. */
export type CommandStep =
  | { readonly kind: 'advance'; readonly phase: CommandPhase; readonly note?: DisruptionNote }
  /** Ask for the places of the pods, and wait for them. */
  | { readonly kind: 'wait' }
  /** End the nodes that carry its name. */
  | { readonly kind: 'end' }
  /** Take the taint and the name off the nodes that carry it. */
  | { readonly kind: 'give-back' }
  /** Delete the resource: no node carries its name. */
  | { readonly kind: 'forget' };

/**
 * Decides the next step of a command of several nodes. It is done whole or not at all: all nodes
 * end once each of them could, and all of them stay if one must. A node that goes for another cause
 * meanwhile holds nobody up. Once its nodes end, a command is not taken back.
 */
export function commandStep(
  phase: CommandPhase | undefined,
  members: readonly CommandMember[],
): CommandStep {
  const isCarried = members.some(({ kind }) => kind === 'marked');
  if (phase === 'Ending') return isCarried ? { kind: 'end' } : { kind: 'forget' };
  if (phase === 'TakenBack') return isCarried ? { kind: 'give-back' } : { kind: 'forget' };
  const against = objectionOf(members);
  if (against !== undefined) return { kind: 'advance', phase: 'TakenBack', note: against };
  if (phase === undefined)
    return isCarried ? { kind: 'advance', phase: 'Tainted' } : { kind: 'forget' };
  // Others took all of its nodes away: no room that it made is given back.
  if (!isCarried) return { kind: 'advance', phase: 'Ending' };
  const isReady = members.every(({ kind, ...rest }) => kind === 'gone' || canEnd(rest));
  return isReady ? { kind: 'advance', phase: 'Ending' } : { kind: 'wait' };
}

const canEnd = (member: { readonly step?: RetirementStep }): boolean => member.step?.kind === 'end';

/** Why one of the nodes must stay; undefined: none must. */
function objectionOf(members: readonly CommandMember[]): DisruptionNote | undefined {
  for (const member of members) {
    if (member.kind === 'marked' && member.step.kind === 'abandon') return at(member.step.notes, 0);
    if (member.kind === 'free')
      return note('command-incomplete', 'not all of its nodes carry its name', {
        free: members.filter(({ kind }) => kind === 'free').length,
        nodes: members.length,
      });
  }
  return undefined;
}
