import { access, copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { installOnce } from './cache.js';
import { withNpmPackage } from './npm-package.js';
import { type ObtainOptions, orUnavailable, settingsOf, type Unavailable } from './obtained.js';

/**
 * TypeScript declarations that were generated from the schema of Terraform's provider of AWS. Its
 * publisher has ended the package, so it stays at this version of the provider.
 */
const declarations = {
  spec: '@cdktf/provider-aws@21.22.1',
  integrity:
    'sha512-BuSHeaQFUL9l33pBzIMRT7cTQ69AM2mLtijjteCPhVQRmvuhuj9Lvfymf7knAMhYqAT6+Lrls9jiGVW/Us3zrQ==',
  remedy: "make npm's registry reachable",
  deadlineMs: 180_000,
} as const;

/** The declarations of some resources of Terraform's provider of AWS, and its version. */
export type TerraformArguments = { readonly folder: string; readonly version: '6.25.0' };

/** The declaration of a resource (`aws_sqs_queue`) or of a data source (`data.aws_region`). */
export const declarationOf = (type: string): string =>
  `${type
    .replace(/^aws_/, '')
    .replace(/^data\.aws_/, 'data-aws-')
    .replaceAll('_', '-')}.d.ts`;

/** Obtains the declarations of these resources and data sources by npm (37 MB), and caches them. */
export async function obtainTerraformArguments(
  types: readonly string[],
  options: ObtainOptions = {},
): Promise<TerraformArguments | Unavailable> {
  const settings = settingsOf(options);
  const names = types.map(declarationOf);
  return await orUnavailable(async () => {
    const folder = await installOnce({
      ...settings,
      name: `terraform-aws-6.25.0`,
      deadlineMs: declarations.deadlineMs,
      isGood: (at) => hasAll(at, names),
      fill: (draft) => {
        settings.log(`Terraform's provider of AWS: downloading ${declarations.spec} (37 MB)`);
        const files = names.map((name) => `lib/${name.replace('.d.ts', '')}/index.d.ts`);
        return withNpmPackage(declarations, files, async (from) => {
          for (const [index, file] of files.entries()) {
            const to = join(draft, names[index] ?? '');
            await mkdir(dirname(to), { recursive: true });
            await copyFile(join(from, 'package', file), to);
          }
        });
      },
    });
    return { folder, version: '6.25.0' };
  });
}

const hasAll = (folder: string, names: readonly string[]): Promise<boolean> =>
  Promise.all(names.map((name) => access(join(folder, name)))).then(
    () => true,
    () => false,
  );
