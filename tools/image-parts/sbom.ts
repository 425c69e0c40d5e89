// The software bill of materials of the image, in CycloneDX.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A component of a CycloneDX document, as far as it is read here. */
export type Component = {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly scope?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly object[];
};

type Dependency = { readonly ref: string; readonly dependsOn?: readonly string[] };

/** A CycloneDX document, as far as it is read here. */
export type Sbom = {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
};

/** All packages of the lock file, as npm itself lists them. */
export const lockedPackages = (): Sbom =>
  JSON.parse(
    execFileSync(
      'npm',
      ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'],
      { encoding: 'utf8', maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'pipe'] },
    ),
  ) as Sbom;

/** `name@version` of the package in a folder. */
export function referenceAt(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
  };
  return `${name}@${version}`;
}

/**
 * The part of npm's list that these packages make up. It has no time and no serial number, so that
 * one commit has one document. A package that the lock file does not have is an error: nobody could
 * say where its code comes from.
 */
export function sbomOf(locked: Sbom, references: readonly string[]): Sbom {
  const wanted = new Set(references);
  const components = locked.components
    .filter((component) => wanted.has(component['bom-ref']))
    // Packages that npm calls optional or only for development are in a bundle all the same.
    .map(({ type, name, version, purl, hashes, licenses, ...rest }) => ({
      ...{ 'bom-ref': rest['bom-ref'], type, name, version, purl, scope: 'required' },
      ...(hashes === undefined ? {} : { hashes }),
      ...(licenses === undefined ? {} : { licenses }),
    }));
  const found = new Set(components.map((component) => component['bom-ref']));
  const strange = references.filter((reference) => !found.has(reference));
  if (strange.length > 0)
    throw new Error(`not in package-lock.json, but in a bundle: ${strange.join(', ')}`);
  const { version } = locked.metadata.component;
  const root = {
    ...partOf('dovetail', version, `pkg:npm/dovetail@${version}`),
    type: 'application',
  };
  const between = locked.dependencies
    .filter(({ ref }) => found.has(ref))
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((on) => found.has(on)),
    }));
  return {
    ...{ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1 },
    metadata: { component: root },
    components,
    dependencies: [{ ref: root['bom-ref'], dependsOn: [...found] }, ...between],
  };
}

/** A part that npm does not know. */
export const partOf = (name: string, version: string, purl: string): Component => ({
  'bom-ref': purl,
  type: 'library',
  name,
  version,
  purl,
});

/** The same document with parts that the bundles need around them. */
export const withParts = (sbom: Sbom, parts: readonly Component[]): Sbom => ({
  ...sbom,
  components: [...sbom.components, ...parts],
});
