/**
 * All items of a paged call.
 * @throws Error after `pagesMax` pages, so that a token that never ends does not become an endless
 *   loop.
 */
export async function allPages<Page, Item>(
  call: (token: string | undefined) => Promise<Page>,
  read: (page: Page) => {
    readonly items: readonly Item[] | undefined;
    readonly next: string | undefined;
  },
  pagesMax = 1_000,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  let token: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const { items: found = [], next } = read(await call(token));
    for (const item of found) items.push(item);
    if (next === undefined || next === '') return items;
    token = next;
  }
  throw new Error(`AWS returned ${pagesMax} pages and has more: narrow the query`);
}

/** Splits the list into pieces of at most `size` items, in order. */
export function inPieces<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
