import { join } from 'node:path';

import { isUnavailable, obtainHelm, type Program, run } from '@dovetail/testbed';
import { parseAllDocuments } from 'yaml';

const helmDir = join(import.meta.dirname, '..', '..', 'deploy', 'helm');

/** The folders of the charts: of Dovetail, and of its custom resources alone. */
export const chartDirs = {
  dovetail: join(helmDir, 'dovetail'),
  crds: join(helmDir, 'dovetail-crd'),
} as const;

/** The values that every installation gives, for `--set`. */
export const requiredValues: readonly string[] = [
  'cluster.name=lab',
  'cluster.region=us-west-2',
  'nats.url=nats://nats:4222',
  // Tests of the bus take this back.
  'nats.insecure=true',
];

/** An object of a rendered chart. Tests know the fields of the kinds that they look at. */
export type Rendered = {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
};

/**
 * Renders the chart of Dovetail with values for `--set`, or for `--set-string` if they are
 * variables. Rejects with Helm's message.
 */
export type Render = (...values: readonly string[]) => Promise<readonly Rendered[]>;

/** A real Helm. Without one, prints that this is left out and answers undefined. */
export async function helmFor(what: string): Promise<Program | undefined> {
  const helm = await obtainHelm();
  if (!isUnavailable(helm)) return helm;
  process.stdout.write(`LEFT OUT: ${what}: ${helm.unavailable}\n`);
  return undefined;
}

/** Renders by this Helm, as a release `dovetail` in the namespace `dovetail`. */
export const rendererOf =
  (helm: Program | undefined): Render =>
  async (...values) => {
    if (helm === undefined) throw new Error('no helm');
    const flags = [...requiredValues, ...values].flatMap((value) => [
      /^[\w.]*[eE]nv\./.test(value) ? '--set-string' : '--set',
      value,
    ]);
    const { stdout } = await run(
      helm.path,
      ['template', 'dovetail', chartDirs.dovetail, '--namespace', 'dovetail', ...flags],
      { deadlineMs: 60_000, remedy: 'read its output' },
    );
    return parseAllDocuments(stdout)
      .map((document) => document.toJS() as Rendered | null)
      .filter((object) => object !== null);
  };

/** The one object of the kind whose name ends so. Throws if there is none, or another one. */
export function theOne<T extends Rendered>(
  objects: readonly Rendered[],
  kind: T['kind'],
  nameEnd: string,
): T {
  const [found, ...others] = objects.filter(
    (object) => object.kind === kind && object.metadata.name.endsWith(nameEnd),
  );
  if (found === undefined || others.length > 0)
    throw new Error(`${kind} …${nameEnd}: ${found === undefined ? 'none' : 'several'}`);
  return found as T;
}
