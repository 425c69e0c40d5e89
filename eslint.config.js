import nx from '@nx/eslint-plugin';
import simpleImportSort from 'eslint-plugin-simple-import-sort';
import tseslint from 'typescript-eslint';

import { foreignKeys } from './tools/lint/foreign-keys.mjs';

const layer = (name, ...sees) => ({
  sourceTag: `layer:${name}`,
  onlyDependOnLibsWithTags: sees.map((s) => `layer:${s}`),
});

// Who may see whom: docs/architecture.md, "Folders and the direction of dependencies".
const boundaries = [
  layer('core', 'core'),
  layer('contracts', 'core', 'contracts'),
  layer('services', 'core', 'contracts', 'services'),
  layer('adapters', 'core', 'contracts', 'adapters'),
  layer('runtime', 'core', 'contracts', 'runtime'),
  layer('sim', 'core', 'contracts', 'sim'),
  layer('testbed', 'core', 'testbed'),
  layer('proto', 'proto'),
  layer('tools', 'core', 'tools'),
  layer('apps', 'core', 'contracts', 'services', 'adapters', 'runtime', 'sim', 'testbed'),
  layer('tests', 'core', 'contracts', 'services', 'adapters', 'runtime', 'sim', 'testbed', 'tests'),
  {
    sourceTag: 'pure:yes',
    allowedExternalImports: [],
    onlyDependOnLibsWithTags: ['layer:core', 'layer:contracts', 'layer:services'],
  },
];
const testFiles = ['**/*.test.ts', '**/testing/**/*.ts', '**/*-cases.ts'];
const pureFiles = ['libs/core/**/*.ts', 'libs/services/**/*.ts'];

export default tseslint.config(
  {
    ignores: [
      '**/dist/**',
      '**/gen/**',
      '**/node_modules/**',
      '.nx/**',
      '.lab/**',
      '**/*.mjs',
      '**/*.js',
    ],
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    plugins: { '@nx': nx, 'simple-import-sort': simpleImportSort },
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      'simple-import-sort/imports': 'error',
      'simple-import-sort/exports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_' },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      'max-lines': ['error', { max: 350 }],
      // Prettier wraps code at 100 columns and leaves comments as they are.
      'max-len': ['error', { code: 10_000_000, comments: 100, ignoreUrls: true }],
      'max-lines-per-function': ['error', { max: 40, skipBlankLines: true, skipComments: true }],
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
    },
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    ignores: testFiles,
    plugins: { '@nx': nx },
    rules: {
      '@nx/enforce-module-boundaries': [
        'error',
        { depConstraints: boundaries, banTransitiveDependencies: false },
      ],
    },
  },
  {
    files: pureFiles,
    ignores: testFiles,
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { group: ['node:*'], message: 'Pure code does no I/O: take it through a port.' },
          ],
        },
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time is injected: Clock.' },
        { object: 'Math', property: 'random', message: 'Randomness is injected: Random.' },
      ],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'NewExpression[callee.name="Date"][arguments.length=0]',
          message: 'Time is injected: Clock.',
        },
      ],
    },
  },
  {
    // Labels, annotations, tags and names reach all of these.
    files: ['libs/**/*.ts', 'apps/**/*.ts', 'apps/**/*.tsx'],
    // Without the two functions that the others use, and the generators, which read schemas that
    // are kept in this repository.
    ignores: [...testFiles, 'libs/core/invariant/src/record.ts', 'libs/sim/kube/tools/**'],
    plugins: { dovetail: { rules: { 'foreign-keys': foreignKeys } } },
    rules: { 'dovetail/foreign-keys': 'error' },
  },
  {
    files: testFiles,
    extends: [tseslint.configs.disableTypeChecked],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/switch-exhaustiveness-check': 'off',
    },
  },
);
