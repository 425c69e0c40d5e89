// The charts of a release: linted, packaged, and rendered from their packages.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The image that the packaged chart names. Absent: that of its values. */
export type ReleasedImage = { readonly repository: string; readonly digest: string };

/** Values without which the chart of Dovetail cannot be rendered. */
const required = ['cluster.name=a', 'cluster.region=us-west-2', 'nats.server.enabled=true'];
const flags = required.flatMap((value) => ['--set', value]);
const charts = ['dovetail-crd', 'dovetail'] as const;
const folderOf = (chart: string): string => join('deploy/helm', chart);

/** The chart's values with this image. Throws if they have no place for it. */
export function valuesWith(values: string, { repository, digest }: ReleasedImage): string {
  const after = values
    .replace(/^( {2}repository: )dovetail$/m, `$1${repository}`)
    .replace(/^( {2}digest: )""$/m, `$1${digest}`);
  if (!after.includes(`repository: ${repository}\n`) || !after.includes(`digest: ${digest}\n`))
    throw new Error('values.yaml has no image.repository "dovetail" and empty image.digest');
  return after;
}

/** Lints and packages both charts into the folder by this helm. Answers what it made. */
export function packageCharts(
  helm: string,
  { into, version, image }: { into: string; version: string; image: ReleasedImage | undefined },
): string {
  const run = (...args: readonly string[]): string =>
    execFileSync(helm, args, { encoding: 'utf8', stdio: 'pipe', maxBuffer: 1 << 26 });
  const scratch = mkdtempSync(join(tmpdir(), 'dovetail-charts-'));
  try {
    const made = charts.map((chart) => {
      const folder = join(scratch, chart);
      // The definitions are links into deploy/crds.
      cpSync(folderOf(chart), folder, { recursive: true, dereference: true });
      const values = join(folder, 'values.yaml');
      if (chart === 'dovetail' && image !== undefined)
        writeFileSync(values, valuesWith(readFileSync(values, 'utf8'), image));
      const own = chart === 'dovetail' ? flags : [];
      run('lint', folder, '--strict', ...own);
      run('package', folder, '--destination', into);
      const archive = join(into, `${chart}-${version}.tgz`);
      const rendered = run('template', chart, archive, '--include-crds', ...own);
      const kinds = rendered.match(/^kind: /gm)?.length ?? 0;
      const definitions = rendered.match(/^kind: CustomResourceDefinition$/gm)?.length ?? 0;
      if (definitions !== 6) throw new Error(`${archive} has ${String(definitions)} definitions`);
      return `${archive} (${String(kinds)} objects)`;
    });
    return made.join(', ');
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
