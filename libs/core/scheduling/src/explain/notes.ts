import type { State } from '../match/states.js';
import type { Offer } from '../model/templates.js';
import type { Reason } from '../plan.js';
import type { Engine } from '../build/engine.js';

const typesIn = (offers: readonly Offer[]): number => new Set(offers.map(({ type }) => type.type.name)).size;

/** Why a bin is what it is: how many of the pool's types its pods' demands ended, and how many its size did. */
export function notesOf(engine: Engine, state: State, options: readonly Offer[]): readonly Reason[] {
  const subject = state.template.key;
  const all = engine.world.states.root(state.template).offers;
  const [ofPool, matching, stayed] = [typesIn(all), typesIn(state.offers), typesIn(options)];
  const notes: Reason[] = [];
  if (matching < ofPool) {
    notes.push({ code: 'requirement-mismatch', subject, values: {}, fell: { count: ofPool - matching, of: ofPool }, message: `${ofPool - matching} of ${ofPool} types do not meet what the pods ask for` });
  }
  if (stayed < matching) {
    notes.push({ code: 'resources-too-large', subject, values: {}, fell: { count: matching - stayed, of: matching }, message: `${matching - stayed} of ${matching} types are too small for the pods together, or beyond the types that one node names` });
  }
  return notes;
}
