// Does all of a release but what leaves this machine: versions, image, charts, npm packages,
// digests, and a signature. The results are in dist/release.
// Usage: tsx tools/release-check.ts   (it builds what it needs)
// TAG: the tag that a release is made from. It must be v and the version, and the changelog must
// have a section of it. IMAGE_REPOSITORY: the image that the packaged chart names, by its digest.
// SOURCE_REPOSITORY: the address of the repository, which the npm packages name.
// A step that this machine cannot try is LEFT OUT, with the reason; with TAG it fails, if a release
// lacks what it makes. Exit code 1: a step failed.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { imageFolder, sbomName } from './image-parts/contents.js';
import { sectionOf } from './release/changelog.js';
import { packageCharts, type ReleasedImage } from './release/charts.js';
import { assembleImage, copyImage, imageDigest } from './release/image.js';
import { LeftOut, type Outcome, take, totalOf } from './release/outcome.js';
import { packPackages } from './release/packages.js';
import { signAndVerify, writeSums } from './release/signing.js';
import { otherVersions, versionFiles } from './release/versions.js';
import { obtained } from './test/stage.js';
import { manifestAt } from './workspace.js';

const out = 'dist/release';
const layout = join(out, 'image');
const { version } = manifestAt('package.json');
const { TAG, IMAGE_REPOSITORY, SOURCE_REPOSITORY } = process.env;
/** Steps that make nothing which is published: the workflow signs by its own identity. */
const lookedAt: ReadonlySet<string> = new Set(['image, by another program', 'signature']);
const isGiven = (value: string | undefined): value is string => value !== undefined && value !== '';

function checkVersions(): string {
  const others = otherVersions(version);
  if (others.length > 0)
    throw new Error(
      `package.json says ${version}, but ${others.join(', ')}: run tsx tools/version.ts`,
    );
  return `${version} in ${String(versionFiles().length)} files`;
}

function checkTag(): string {
  if (!isGiven(TAG))
    throw new LeftOut('no TAG is given, such as TAG=v0.1.0: no release is made from here');
  if (TAG !== `v${version}`) throw new Error(`the tag is ${TAG}, and package.json says ${version}`);
  const notes = sectionOf(readFileSync('CHANGELOG.md', 'utf8'), version);
  if (notes === undefined || notes === '')
    throw new Error(`CHANGELOG.md has no section "## ${version}": write it`);
  writeFileSync(join(out, 'NOTES.md'), `${notes}\n`);
  return `${TAG}, with notes in ${join(out, 'NOTES.md')}`;
}

function build(): string {
  const nx = ['nx', 'run-many', '-t', 'gen', 'build', 'package', 'files', '--output-style=static'];
  execFileSync('npx', nx, { stdio: 'pipe', maxBuffer: 1 << 28 });
  return 'programs, packages and the files of the image';
}

/** The list of packages in the bundles. The one in each image also names Node.js and libraries. */
function keepSbom(file: string): string {
  copyFileSync(join(imageFolder, sbomName), file);
  const { components } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly components: object[];
  };
  return `${file} names ${String(components.length)} packages`;
}

/** The command as one file, which says its version where nothing else lies. */
function keepCommand(file: string): string {
  copyFileSync('dist/dovetail.mjs', file);
  const said = execFileSync(process.execPath, [file, '--version'], { encoding: 'utf8' }).trim();
  if (said !== version) throw new Error(`${file} says version ${said}`);
  return `${file} says ${said}`;
}

const revision = (): string =>
  execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();

const releasedImage = (): ReleasedImage | undefined =>
  isGiven(IMAGE_REPOSITORY)
    ? { repository: IMAGE_REPOSITORY, digest: imageDigest(layout) }
    : undefined;

async function charts(): Promise<string> {
  const { had, text } = await obtained('helm');
  const [, helm] = /real +\S+ +(\S+)/.exec(text) ?? [];
  if (!had || helm === undefined) throw new LeftOut(`no helm: ${text.trim()}`);
  return packageCharts(helm, { into: out, version, image: releasedImage() });
}

/** The packages name the repository of the workflow, which alone knows it. */
function packages(): string {
  if (isGiven(TAG) && !isGiven(SOURCE_REPOSITORY))
    throw new Error(
      'SOURCE_REPOSITORY is not given: name the address that npm finds in the provenance, such as https://host/owner/name',
    );
  const repository = isGiven(SOURCE_REPOSITORY) ? SOURCE_REPOSITORY : undefined;
  return packPackages(out, { version, repository });
}

async function main(): Promise<void> {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const outcomes: Outcome[] = [];
  const step = async (name: string, work: () => string | Promise<string>): Promise<void> =>
    void outcomes.push(await take(name, work, { isNeeded: isGiven(TAG) && !lookedAt.has(name) }));
  await step('versions', checkVersions);
  await step('tag and changelog', checkTag);
  await step('build', build);
  await step('image', () => assembleImage(layout, { version, revision: revision() }));
  await step('list of packages', () => keepSbom(join(out, sbomName)));
  await step('image, by another program', () => copyImage(layout, join(out, 'image.tar')));
  await step('charts', charts);
  await step('npm packages', packages);
  await step('command as one file', () => keepCommand(join(out, 'dovetail.mjs')));
  await step('digests', () => writeSums(out));
  await step('signature', () => signAndVerify(out));
  process.stdout.write(`\n${totalOf(outcomes)}; nothing was uploaded, and no identity signed\n`);
  process.exitCode = outcomes.some(({ kind }) => kind === 'failed') ? 1 : 0;
}

await main();
