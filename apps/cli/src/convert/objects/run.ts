import { readManifests } from '../../manifests/files.js';
import { InputError } from '../../manifests/input-error.js';
import { objectsOf } from '../../manifests/objects.js';
import { Problems } from '../../manifests/problems.js';
import { stringify } from '../../manifests/yaml.js';
import { convertObjects } from './convert.js';
import { type Cluster, type Draft, nameOf } from './draft.js';

type Output = { out(text: string): void; err(text: string): void };

/** The input of `convert` for objects. */
export type ObjectsRequest = Cluster & {
  readonly paths: readonly string[];
  readonly output: 'yaml' | 'json';
};

/** Exit codes: all converted, some objects left out, and nothing that could be read. */
const exitCodes = { converted: 0, partly: 4, unusable: 64 } as const;

const titleOf = ({ object }: Draft): string => `${String(object['kind'])}/${nameOf(object)}`;

/** Text on one line, so that a comment ends where it should. */
const line = (text: string): string => text.replaceAll(/\s+/g, ' ');

/** The object as YAML below its notes. One that was not changed stands as it was written. */
function yamlOf({ source, object, notes }: Draft): string {
  const { text } = source.document;
  if (notes.length === 0 && source.path === '' && !/^%|^\.\.\./m.test(text))
    return `${text.replace(/^\n/, '').trimEnd()}\n`;
  const comments = notes.map((note) => `# ${line(`${note.field}: ${note.text}`)}\n`);
  // YAML 1.1 has more words that need quotes, and kubectl reads them.
  return comments.join('') + stringify(object, { version: '1.1', lineWidth: 0 });
}

function jsonOf(drafts: readonly Draft[]): string {
  const notes = drafts.flatMap((draft) =>
    draft.notes.map((note) => ({ object: titleOf(draft), ...note })),
  );
  return `${JSON.stringify({ objects: drafts.map(({ object }) => object), notes }, undefined, 2)}\n`;
}

/**
 * Prints the objects in v1. Standard error gets a note for each changed field, and a line for each
 * object that is left out.
 */
export async function runConvertObjects(request: ObjectsRequest, output: Output): Promise<number> {
  const problems = new Problems();
  try {
    const sources = await objectsOf(readManifests(request.paths), problems);
    const drafts = await convertObjects(sources, request, problems);
    output.out(request.output === 'json' ? jsonOf(drafts) : drafts.map(yamlOf).join('---\n'));
    for (const draft of drafts)
      for (const { field, text } of draft.notes)
        output.err(`note: ${titleOf(draft)}: ${line(`${field}: ${text}`)}\n`);
    for (const text of problems.lines()) output.err(`${text}\n`);
    return problems.all.length === 0 ? exitCodes.converted : exitCodes.partly;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    output.err(`${error.text}\n`);
    return exitCodes.unusable;
  }
}
