import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A package that is part of a bundle. */
type Bundled = { readonly folder: string; readonly title: string; readonly licence: string };

/** Files in which packages keep their terms. */
const termsFile = /^(licen[cs]e|notice|copying|thirdpartynotices)([.-].*)?$/i;

/** The folder of the package that an input of a bundle belongs to. */
const folderOf = (input: string): string | undefined =>
  /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];

function bundledAt(folder: string): Bundled {
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as { readonly name: string; readonly version: string; readonly license?: string };
  return { folder, title: `${name} ${version}`, licence: license ?? 'not stated' };
}

const termsOf = ({ folder }: Bundled): readonly string[] =>
  readdirSync(folder)
    .filter((file) => termsFile.test(file))
    .toSorted()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());

/**
 * The licences and notices of the packages that these inputs of bundles come from. Equal texts are
 * given once, after all the packages that they are for.
 */
export function noticesOf(inputs: Iterable<string>): string {
  const folders = new Set([...inputs].flatMap((input) => folderOf(input) ?? []));
  const byTerms = new Map<string, Bundled[]>();
  for (const folder of [...folders].toSorted()) {
    const bundled = bundledAt(folder);
    const terms = termsOf(bundled).join('\n\n');
    byTerms.set(terms, [...(byTerms.get(terms) ?? []), bundled]);
  }
  return [...byTerms]
    .map(([terms, packages]) => {
      const titles = packages.map(({ title, licence }) => `${title} (${licence})`).join('\n');
      return `${titles}\n\n${terms === '' ? 'The package holds no text of its licence.' : terms}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
