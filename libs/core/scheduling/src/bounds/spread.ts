import type { AssignmentBound, AssignmentProgram, NodeRange } from './assignment.js';

type Leaf = NodeRange & AssignmentBound;

/**
 * Where a range is cut: at the relaxed number of nodes if that is inside, for wide ranges at their
 * geometric mean.
 */
function cutOf(leaf: Leaf): number {
  const wide = leaf.most > 4 * Math.max(1, leaf.least);
  const at = wide ? Math.sqrt(Math.max(1, leaf.least) * leaf.most) : leaf.nodes;
  const whole = Math.floor(at);
  return whole >= leaf.least && whole < leaf.most
    ? whole
    : Math.floor((leaf.least + leaf.most) / 2);
}

/**
 * What hostname rules demand depends on the number of new nodes, so the bound is the least over
 * ranges of that number that together cover all. The range with the least is halved, as often as
 * `rangesMax` allows or until it is one number.
 */
export async function spreadBound(
  program: AssignmentProgram,
  what: { readonly all: NodeRange; readonly rangesMax: number },
): Promise<number> {
  const solve = async (range: NodeRange, within: number): Promise<Leaf> => {
    const { priceMicrosPerHour, nodes } = await program.solve(range);
    // What holds for a range holds for its parts, also where the solver had no time left for them.
    return { ...range, nodes, priceMicrosPerHour: Math.max(within, priceMicrosPerHour) };
  };
  const leaves: Leaf[] = [await solve(what.all, 0)];
  for (let solved = 1; solved < what.rangesMax; solved += 2) {
    leaves.sort((a, b) => a.priceMicrosPerHour - b.priceMicrosPerHour || a.least - b.least);
    const [lowest] = leaves;
    if (
      lowest === undefined ||
      lowest.least === lowest.most ||
      lowest.priceMicrosPerHour === Infinity
    )
      break;
    const cut = cutOf(lowest);
    const halves = [
      { least: lowest.least, most: cut },
      { least: cut + 1, most: lowest.most },
    ];
    leaves.shift();
    for (const half of halves) leaves.push(await solve(half, lowest.priceMicrosPerHour));
  }
  return leaves.reduce((least, leaf) => Math.min(least, leaf.priceMicrosPerHour), Infinity);
}
