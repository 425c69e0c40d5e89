import { assert } from '@dovetail/core-invariant';

/**
 * Runs the work on every item, at most `limit` at a time. The results keep the items' order. After
 * a failure the other items still run, and then the first rejection is thrown. Invariant: 1 <=
 * limit.
 */
export async function inParallel<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<readonly R[]> {
  assert(limit >= 1, 'work in parallel has at least one lane');
  const results = new Array<R>(items.length);
  const queue = items.entries();
  let failure: { readonly error: unknown } | undefined;
  const lane = async (): Promise<void> => {
    for (const [index, item] of queue) {
      try {
        results[index] = await work(item, index);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  if (failure !== undefined) throw failure.error;
  return results;
}
