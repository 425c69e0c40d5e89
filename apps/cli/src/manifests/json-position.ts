const token =
  /[ \t\r\n]*(?:([[\]{},:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null))/y;

type Expect = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end' | 'end';

const blanks = /[ \t\r\n]*/y;

function afterBlanks(text: string, from: number): number {
  blanks.lastIndex = from;
  blanks.test(text);
  return blanks.lastIndex;
}

/** The characters that may follow a finished value. */
const afterValue = (open: readonly string[]): Expect => (open.length === 0 ? 'end' : ', or end');

/**
 * The offset at which a text stops being JSON: its first wrong character, or its end. Use it only
 * for texts that JSON.parse has refused, whose message does not always name the position.
 */
export function jsonErrorOffset(text: string): number {
  const open: string[] = [];
  let expected: Expect = 'value';
  for (token.lastIndex = 0; ;) {
    const from = token.lastIndex;
    const match = token.exec(text);
    if (match === null) return afterBlanks(text, from);
    const [, mark, string] = match;
    const wantsValue = expected === 'value' || expected === 'value or ]';
    if (mark === undefined && wantsValue) expected = afterValue(open);
    else if (string !== undefined && (expected === 'key' || expected === 'key or }'))
      expected = ':';
    else if ((mark === '[' || mark === '{') && wantsValue) {
      open.push(mark);
      expected = mark === '[' ? 'value or ]' : 'key or }';
    } else if (mark === ':' && expected === ':') expected = 'value';
    else if (mark === ',' && expected === ', or end')
      expected = open.at(-1) === '[' ? 'value' : 'key';
    else if (
      mark === ']' &&
      open.at(-1) === '[' &&
      (expected === ', or end' || expected === 'value or ]')
    ) {
      open.pop();
      expected = afterValue(open);
    } else if (
      mark === '}' &&
      open.at(-1) === '{' &&
      (expected === ', or end' || expected === 'key or }')
    ) {
      open.pop();
      expected = afterValue(open);
    } else return afterBlanks(text, from);
  }
}
