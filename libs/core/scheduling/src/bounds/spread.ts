import type { AssignmentBound, AssignmentProgram, NodeRange } from './assignment.js';

type Leaf = NodeRange & AssignmentBound;

/**
 * Returns where to cut a range: at the relaxed number of nodes if that lies inside, or at the
 * geometric mean of a wide range.
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
 * Returns the bound that considers hostname rules, whose limits depend on the number of new nodes.
 * It is the lowest bound over ranges that together cover all numbers. The range with the lowest
 * bound is cut until `rangesMax` programs are solved or it is a single number.
 */
export async function spreadBound(
  program: AssignmentProgram,
  what: { readonly all: NodeRange; readonly rangesMax: number },
): Promise<number> {
  const solve = async (range: NodeRange, within: number): Promise<Leaf> => {
    const { priceMicrosPerHour, nodes } = await program.solve(range);
    // A bound for a range holds for its parts, even if the solver had no time left for them.
    return { ...range, nodes, priceMicrosPerHour: Math.max(within, priceMicrosPerHour) };
  };
  const leaves: Leaf[] = [await solve(what.all, 0)];
  for (let solved = 1; solved + 2 <= what.rangesMax; solved += 2) {
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
