import { float64At } from '@dovetail/core-invariant';

import type { State, StateTable } from '../match/states.js';
import type { PodClass } from '../model/classes.js';
import type { Template } from '../model/templates.js';

const isHeld = ({ widest }: State, amounts: Float64Array): boolean =>
  widest.some((room) => amounts.every((amount, r) => amount <= float64At(room, r)));

/**
 * Returns a class that counts as more than its requests only if this closes no pool to it: each
 * pool with a type for its requests must have one for the assumed amounts too.
 */
export function fitting(
  cls: PodClass,
  { templates, states }: { readonly templates: readonly Template[]; readonly states: StateTable },
): PodClass {
  const { requests, newNodeRequests } = cls;
  if (newNodeRequests === requests) return cls;
  const shapes = new Set(cls.levels.flatMap((level) => level.shapes));
  for (const template of templates)
    for (const shape of shapes) {
      const state = states.after(states.root(template), shape);
      if (state !== undefined && isHeld(state, requests) && !isHeld(state, newNodeRequests))
        return { ...cls, newNodeRequests: requests };
    }
  return cls;
}
