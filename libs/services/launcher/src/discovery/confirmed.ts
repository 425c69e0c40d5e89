/**
 * Asks once more if an answer lacks what was known before, and answers what the second one says. A
 * page that AWS leaves out, or a look at a replica that lags, must not take types, subnets or
 * images away: nodes would count as drifted. Only two answers in a row take it away.
 */
export async function confirmed<T>(
  ask: () => Promise<T>,
  lacksKnown: (answer: T) => boolean,
): Promise<T> {
  const first = await ask();
  return lacksKnown(first) ? ask() : first;
}
