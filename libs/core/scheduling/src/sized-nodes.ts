import type { Plan } from './plan.js';

/** The key of the value that names the types by which a node is sized, in the note on its pool. */
export const sizesValue = 'sizes';

/**
 * Whether some nodes of a plan are sized by a part of the types, as those of a Provisioner that
 * names none. Bounds count every type, so they tell nothing about such a plan.
 */
export const hasSizedNodes = ({ newNodes }: Pick<Plan, 'newNodes'>): boolean =>
  newNodes.some(({ notes }) =>
    notes.some(({ code, values }) => code === 'pool-chosen' && sizesValue in values),
  );
