// Reads the last stage of the Dockerfile: an image assembled without it is configured alike.
import { readFileSync } from 'node:fs';

/** The configuration of a container, in the words of the OCI image specification. */
export type ContainerConfig = {
  readonly User: string;
  readonly WorkingDir: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
};

/** An instruction and what follows it. */
type Instruction = readonly [name: string, rest: string];

/** The instructions of the last stage, and the build arguments that it declares with a value. */
function lastStage(text: string): readonly Instruction[] {
  const lines = text
    .replace(/^#.*$/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const all = lines.map((line): Instruction => {
    const [name = '', ...rest] = line.split(' ');
    return [name, rest.join(' ')];
  });
  return all.slice(all.findLastIndex(([name]) => name === 'FROM') + 1);
}

/** The container as the Dockerfile describes it, with these build arguments. */
export function containerConfig(
  path: string,
  given: Readonly<Record<string, string>>,
): ContainerConfig {
  const stage = lastStage(readFileSync(path, 'utf8'));
  const defaults = stage
    .filter(([name]) => name === 'ARG')
    .map(([, rest]): readonly [string, string] => {
      const [name = '', value = ''] = rest.split('=');
      return [name, value];
    });
  const values: Readonly<Record<string, string>> = { ...Object.fromEntries(defaults), ...given };
  const the = (wanted: string): string => {
    const rest = stage.find(([name]) => name === wanted)?.[1];
    if (rest === undefined) throw new Error(`${path} has no ${wanted} in its last stage`);
    return rest.replace(/\$(\w+)/g, (_, name: string) => values[name] ?? '');
  };
  return {
    User: the('USER'),
    WorkingDir: the('WORKDIR'),
    Entrypoint: JSON.parse(the('ENTRYPOINT')) as readonly string[],
    Cmd: JSON.parse(the('CMD')) as readonly string[],
    Labels: Object.fromEntries(
      [...the('LABEL').matchAll(/(\S+)="([^"]*)"/g)].map(([, name = '', value = '']) => [
        name,
        value,
      ]),
    ),
  };
}
