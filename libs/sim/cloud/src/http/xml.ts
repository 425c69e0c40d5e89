import { XMLBuilder } from 'fast-xml-parser';

/**
 * A value that becomes XML: elements by name. An array repeats its element; undefined is left out.
 */
export type Xml =
  string | number | boolean | undefined | readonly Xml[] | { readonly [element: string]: Xml };

const builder = new XMLBuilder({ ignoreAttributes: false, attributeNamePrefix: '@' });

function cleaned(value: Xml): unknown {
  if (Array.isArray(value)) return (value as readonly Xml[]).map(cleaned);
  if (typeof value !== 'object') return value === undefined ? undefined : String(value);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined && !(Array.isArray(inner) && inner.length === 0))
      .map(([name, inner]) => [name, cleaned(inner)]),
  );
}

/** The document of a root element. */
export const xmlDocument = (root: Xml): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n${builder.build(cleaned(root))}`;

/** EC2's lists: `<set><item>…</item></set>`. */
export const items = (list: readonly Xml[]): Xml => ({ item: list });

/** EC2's tags. */
export const tagItems = (tags: Readonly<Record<string, string>>): Xml =>
  items(Object.entries(tags).map(([key, value]) => ({ key, value })));

/** AWS' times in XML. */
export const timeText = (ms: number): string => new Date(ms).toISOString();
