/** No Kubernetes object nests deeper; the planner's readers go down by recursion. */
const depthMax = 1_000;

/**
 * The knot in a value that was read: a part that contains itself, as an alias can make it, or
 * nesting without end. Goes down without recursion, so that no depth ends the process.
 */
export function knotIn(value: unknown): 'circle' | 'depth' | undefined {
  const open = new Set<object>();
  const levels: { readonly object: object; readonly rest: unknown[] }[] = [];
  const enter = (object: object): void => {
    open.add(object);
    levels.push({ object, rest: Object.values(object) });
  };
  if (typeof value === 'object' && value !== null) enter(value);
  for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
    if (level.rest.length === 0) {
      open.delete(level.object);
      levels.pop();
      continue;
    }
    const next = level.rest.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (open.has(next)) return 'circle';
    if (levels.length >= depthMax) return 'depth';
    enter(next);
  }
  return undefined;
}
