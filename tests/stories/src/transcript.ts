/** Commands of a transcript that run together, and their output. */
export type Scene = {
  /** Comments and empty lines before the commands, unchanged. */
  readonly lead: readonly string[];
  readonly commands: readonly string[];
  readonly output: readonly string[];
};

const divider = '----';

/** Reads a transcript: comments, commands, a line of dashes, the output up to an empty line. */
export function parseTranscript(text: string): readonly Scene[] {
  const scenes: Scene[] = [];
  let lead: string[] = [];
  let commands: string[] = [];
  let output: string[] | undefined;
  const close = (): void => {
    if (commands.length > 0) scenes.push({ lead, commands, output: output ?? [] });
    [lead, commands, output] = [[], [], undefined];
  };
  for (const line of text.split('\n')) {
    if (output !== undefined && line !== '') output.push(line);
    else if (output !== undefined) close();
    else if (line === divider) output = [];
    else if (line === '' || line.startsWith('#')) lead.push(line);
    else commands.push(line);
  }
  close();
  return scenes;
}

/** The text of a transcript; `parseTranscript` reads it back. */
export const renderTranscript = (scenes: readonly Scene[]): string =>
  `${scenes
    .map(({ lead, commands, output }) => [...lead, ...commands, divider, ...output, ''].join('\n'))
    .join('\n')
    .trimEnd()}\n`;
