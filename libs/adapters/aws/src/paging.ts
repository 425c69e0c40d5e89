/** Everything that a paged call answers. A limit on pages turns an endless token into an error instead of an endless loop. */
export async function allPages<Page, Item>(
  call: (token: string | undefined) => Promise<Page>,
  read: (page: Page) => { readonly items: readonly Item[] | undefined; readonly next: string | undefined },
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
  throw new Error(`AWS answered ${pagesMax} pages and has more: narrow the query`);
}

/** The list in pieces of at most `size`. */
export function inPieces<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size));
}
