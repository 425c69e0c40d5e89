import { isUnavailable, type Unavailable, wantsRealParts } from '@dovetail/testbed';

type Obtain = () => Promise<object>;

/**
 * Obtains the real parts that a test file needs, if the run asks for real parts. Undefined, with a
 * line that says why, if the file is to be left out. `what` is the subject of that line.
 */
export async function realParts<Parts extends Readonly<Record<string, object>>>(
  what: string,
  obtain: { readonly [Name in keyof Parts]: () => Promise<Parts[Name] | Unavailable> },
): Promise<Parts | undefined> {
  if (!wantsRealParts()) return leftOut(what, '`make test-real` includes it');
  const parts: Record<string, object> = {};
  for (const [name, obtainPart] of Object.entries<Obtain>(obtain)) {
    const part = await obtainPart();
    if (isUnavailable(part)) return leftOut(what, part.unavailable.split('\n', 1)[0] ?? '');
    parts[name] = part;
  }
  return parts as Parts;
}

function leftOut(what: string, why: string): undefined {
  process.stdout.write(`LEFT OUT: ${what}: ${why}\n`);
}
