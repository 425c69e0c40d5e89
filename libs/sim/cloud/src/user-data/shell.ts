import { BootError } from './config.js';

type Scan = { readonly words: string[]; word: string | undefined };

/**
 * Replaces $NAME and ${NAME} by the script's earlier assignments. An unknown name is empty, as in a
 * shell.
 */
const expanded = (text: string, variables: ReadonlyMap<string, string>): string =>
  text.replace(
    /\$(?:\{(\w+)\}|(\w+))/g,
    (_whole, braced: string | undefined, bare: string | undefined) =>
      variables.get(braced ?? bare ?? '') ?? '',
  );

const append = (scan: Scan, text: string): void => {
  scan.word = (scan.word ?? '') + text;
};

function endWord(scan: Scan): void {
  if (scan.word !== undefined) scan.words.push(scan.word);
  scan.word = undefined;
}

const token = /\\\r?\n|\\([\s\S])|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|(\s+)|([^\s'"\\]+)|(['"\\])/g;

/**
 * A shell's words. Single quotes keep text as it is, double quotes keep spaces, and a backslash
 * escapes the next character.
 */
export function wordsOf(
  text: string,
  variables: ReadonlyMap<string, string> = new Map(),
): readonly string[] {
  const scan: Scan = { words: [], word: undefined };
  for (const [, escaped, single, double, space, plain, stray] of text.matchAll(token)) {
    if (stray !== undefined)
      throw new BootError(`shell: a quote is not closed in: ${text.slice(0, 80)}`);
    if (escaped !== undefined) append(scan, escaped);
    else if (single !== undefined) append(scan, single);
    else if (double !== undefined)
      append(
        scan,
        expanded(double.replace(/\\(["\\$`])/g, '$1').replace(/\\\r?\n/g, ''), variables),
      );
    else if (space !== undefined) endWord(scan);
    else if (plain !== undefined) append(scan, expanded(plain, variables));
  }
  endWord(scan);
  return scan.words;
}

/** Splits at line ends, `;` and `&&` that are neither quoted nor escaped. */
function logicalLines(script: string): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const piece of script.matchAll(
    /\\\r?\n|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|(\r?\n|;|&&)|[^\\'"\r\n;&]+|[\s\S]/g,
  )) {
    if (piece[1] === undefined) {
      line += piece[0];
      continue;
    }
    lines.push(line);
    line = '';
  }
  return [...lines, line].map((one) => one.trim()).filter((one) => one !== '');
}

/** Removes comments before quotes are read, because an apostrophe in a comment means nothing. */
const withoutComments = (script: string): string => script.replace(/^[ \t]*#.*$/gm, '');

/**
 * The commands of a script in order, as words. Simple assignments (`NAME=value`) are applied;
 * control flow is not followed.
 */
export function commandsOf(script: string): readonly (readonly string[])[] {
  const variables = new Map<string, string>();
  return logicalLines(withoutComments(script)).flatMap((line) => {
    const assignment = /^(?:export\s+)?(\w+)=([\s\S]*)$/.exec(line);
    const words = wordsOf(assignment === null ? line : (assignment[2] ?? ''), variables);
    if (assignment === null) return [words];
    variables.set(assignment[1] ?? '', words[0] ?? '');
    return [];
  });
}
