/** One part of a multipart message: its header lines and its body, unchanged. */
export type MimePart = { readonly headers: readonly string[]; readonly body: string };

const boundary = '//';
const newline = /\r\n|\r|\n/g;

/**
 * Changes line ends to those of Linux. A carriage return after `#!/bin/bash` would name another
 * interpreter.
 */
export const unixLines = (text: string): string => text.replace(newline, '\n');

/** Whether user data is a MIME document: its first line is a header of one. */
export const isMime = (text: string): boolean =>
  /^(mime-version|content-type):/i.test(text.trimStart());

/** One part of a multipart message. */
export const part = (contentType: string, body: string): MimePart => ({
  headers: [`Content-Type: ${contentType}`],
  body,
});

/** A part that cloud-init runs as a shell script. */
export const shellPart = (body: string): MimePart =>
  part('text/x-shellscript; charset="us-ascii"', body);

/** A multipart message as cloud-init and nodeadm read it. */
export function multipart(parts: readonly MimePart[]): string {
  const written = parts.map(
    ({ headers, body }) => `--${boundary}\n${headers.join('\n')}\n\n${body}\n`,
  );
  return `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="${boundary}"\n\n${written.join('')}--${boundary}--\n`;
}

/**
 * The parts of a message. A message that is not multipart is one part of its own type. Undefined if
 * it is multipart without a boundary, or without the parts that its boundary should separate.
 */
export function partsOf(text: string): readonly MimePart[] | undefined {
  const whole = splitHeaders(unixLines(text).trimStart());
  const contentType = whole.headers.find((header) => /^content-type:/i.test(header)) ?? '';
  if (!/multipart\//i.test(contentType))
    return [
      {
        headers: whole.headers.filter((header) => !/^mime-version:/i.test(header)),
        body: whole.body,
      },
    ];
  const separator = /boundary="?([^";]+)"?/i.exec(contentType)?.[1];
  if (separator === undefined) return undefined;
  const lines = whole.body.split('\n');
  const starts = lines.flatMap((line, index) =>
    line.trimEnd() === `--${separator}` ? [index] : [],
  );
  const end = lines.findIndex((line) => line.trimEnd() === `--${separator}--`);
  if (starts.length === 0 || end === -1) return undefined;
  return starts.map((start, index) =>
    splitHeaders(lines.slice(start + 1, starts[index + 1] ?? end).join('\n')),
  );
}

/** Header lines up to the first empty one. A folded line continues the one before it. */
function splitHeaders(text: string): MimePart {
  const gap = text.indexOf('\n\n');
  const head = gap === -1 ? text : text.slice(0, gap);
  const headers = head
    .replace(/\n[ \t]+/g, ' ')
    .split('\n')
    .filter((line) => line !== '');
  return { headers, body: gap === -1 ? '' : text.slice(gap + 2).replace(/\n$/, '') };
}
