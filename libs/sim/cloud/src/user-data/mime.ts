/** One part of user data: its type as declared and its text. */
export type UserDataPart = { readonly contentType: string; readonly body: string };

/** The parts of user data; `problem` says why the text cannot be read. */
export type UserDataParts = {
  readonly multipart: boolean;
  readonly parts: readonly UserDataPart[];
  readonly problem?: string;
};

type Entity = { readonly headers: ReadonlyMap<string, string>; readonly body: string };

/** RFC 5322 headers, folded lines joined, then the body after the first empty line. */
function entityOf(text: string): Entity {
  const match = /\r?\n\r?\n/.exec(text);
  const head = match === null ? text : text.slice(0, match.index);
  const headers = new Map<string, string>();
  for (const line of head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0)
      headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return { headers, body: match === null ? '' : text.slice(match.index + match[0].length) };
}

function decodedBody(entity: Entity): string {
  const encoding = entity.headers.get('content-transfer-encoding')?.toLowerCase();
  return encoding === 'base64' ? Buffer.from(entity.body, 'base64').toString('utf8') : entity.body;
}

function boundaryOf(contentType: string): string | undefined {
  const match = /boundary\s*=\s*(?:"([^"]*)"|([^;\s]+))/i.exec(contentType);
  return match?.[1] ?? match?.[2];
}

/** The type that cloud-init gives to text without a declared one: by its first line. */
function sniffed(text: string): string {
  return text.startsWith('#!')
    ? 'text/x-shellscript'
    : text.startsWith('#cloud-config')
      ? 'text/cloud-config'
      : 'text/plain';
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');

function splitParts(
  body: string,
  boundary: string,
): { readonly texts: readonly string[]; readonly closed: boolean } {
  const delimiter = new RegExp(`(?:^|\\r?\\n)--${escaped(boundary)}(--)?[ \\t]*(?=\\r?\\n|$)`, 'g');
  const texts: string[] = [];
  let startAt: number | undefined;
  for (const match of body.matchAll(delimiter)) {
    if (startAt !== undefined) texts.push(body.slice(startAt, match.index).replace(/^\r?\n/, ''));
    startAt = match.index + match[0].length;
    if (match[1] !== undefined) return { texts, closed: true };
  }
  if (startAt !== undefined) texts.push(body.slice(startAt).replace(/^\r?\n/, ''));
  return { texts, closed: false };
}

function withParts(text: string): UserDataParts {
  const whole = entityOf(text);
  const contentType = whole.headers.get('content-type') ?? '';
  const boundary = boundaryOf(contentType);
  if (boundary === undefined)
    return { multipart: true, parts: [], problem: 'the MIME header names no boundary' };
  const { texts, closed } = splitParts(whole.body, boundary);
  const parts = texts.flatMap((part) => {
    const entity = entityOf(part);
    const type =
      (entity.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
    if (type.startsWith('multipart/')) return withParts(part).parts;
    const body = decodedBody(entity);
    return [{ contentType: type === '' ? sniffed(body) : type, body }];
  });
  return {
    multipart: true,
    parts,
    ...(closed ? {} : { problem: `the MIME text does not end with its boundary --${boundary}--` }),
  };
}

/** User data as its parts: those of a MIME multipart, nested ones too, or the whole text as one. */
export function partsOf(text: string): UserDataParts {
  const start = text.trimStart();
  if (/^(mime-version|content-type)\s*:/i.test(start)) return withParts(start);
  return { multipart: false, parts: [{ contentType: sniffed(start), body: text }] };
}
