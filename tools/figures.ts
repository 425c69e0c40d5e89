// Measures the house: sizes of files and functions, comments, tests, knots, edges, and the closure
// of each service.
// Usage: tsx tools/figures.ts [FOLDER]   (prints Markdown rows; FOLDER limits the files, not the
// graph)  tsx tools/figures.ts --write   (puts them into CONTRIBUTING.md)
import { readFileSync, writeFileSync } from 'node:fs';

import { build } from 'esbuild';
import ts from 'typescript';

import { arrowsOf, knotsOf } from './stairs.js';
import { importsOf, isTest, packageOf, trackedFiles, workspacePackages } from './workspace.js';

type Row = readonly [figure: string, value: string];
/** The lines of one file by kind. */
type Lines = { readonly code: number; readonly comment: number };

const args = process.argv[1] === import.meta.filename ? process.argv.slice(2) : [];
const within = args.find((arg) => !arg.startsWith('--')) ?? '';
const sources = trackedFiles('*.ts', '*.tsx').filter(
  (file) => file.startsWith(within) && !/generated\/|builtin-|\/gen\//.test(file),
);
const product = sources.filter((file) => !isTest(file));
const textOf = (file: string): string => readFileSync(file, 'utf8');

const isComment = (line: string): boolean => /^(\/\/|\/\*|\*)/.test(line);

function linesOf(text: string): Lines {
  const lines = text.split('\n').flatMap((line) => line.trim() || []);
  const comment = lines.filter(isComment).length;
  return { code: lines.length - comment, comment };
}

/** The value below which that share of the sorted values lies. */
const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

const isFunction = (node: ts.Node): node is ts.FunctionLikeDeclaration =>
  ts.isFunctionDeclaration(node) ||
  ts.isFunctionExpression(node) ||
  ts.isArrowFunction(node) ||
  ts.isMethodDeclaration(node) ||
  ts.isConstructorDeclaration(node) ||
  ts.isAccessor(node);

/** True for a function that a reader can name. Arrow functions that are passed on have no name. */
const isNamed = (node: ts.FunctionLikeDeclaration): boolean =>
  node.name !== undefined ||
  ts.isConstructorDeclaration(node) ||
  ts.isVariableDeclaration(node.parent) ||
  ts.isPropertyAssignment(node.parent);

/**
 * Lengths of the functions of a file, from signature to closing brace, without blank lines and
 * comments, as the linter counts.
 */
function functionsOf(file: string): readonly { readonly lines: number; readonly named: boolean }[] {
  const source = ts.createSourceFile(file, textOf(file), ts.ScriptTarget.Latest, true);
  const found: { readonly lines: number; readonly named: boolean }[] = [];
  const visit = (node: ts.Node): void => {
    if (isFunction(node) && node.body !== undefined)
      found.push({ lines: linesOf(node.getText(source)).code, named: isNamed(node) });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function sizeRows(): readonly Row[] {
  const files = product.map((file) => textOf(file).split('\n').length - 1);
  const functions = product.flatMap(functionsOf);
  const named = functions.filter((each) => each.named).map(({ lines }) => lines);
  const all = functions.map(({ lines }) => lines);
  const widths = product.flatMap((file) =>
    textOf(file)
      .split('\n')
      .map((line) => line.length),
  );
  const over = (max: number): string =>
    `${all.filter((lines) => lines > max).length} of ${all.length}`;
  return [
    ['files, lines of them', `${files.length}, ${sum(files)}`],
    [
      'file median / p90 / max',
      `${percentile(files, 0.5)} / ${percentile(files, 0.9)} / ${Math.max(...files)}`,
    ],
    ['function median / p90 (named)', `${percentile(named, 0.5)} / ${percentile(named, 0.9)}`],
    [
      'function median / p90 (all, with arrows)',
      `${percentile(all, 0.5)} / ${percentile(all, 0.9)}`,
    ],
    ['functions over 40 lines', over(40)],
    ['functions over 70 lines', over(70)],
    [
      'lines over 100 / 140 characters',
      `${percent(widths.filter((width) => width > 100).length / widths.length)} / ${percent(widths.filter((width) => width > 140).length / widths.length)}`,
    ],
  ];
}

function proseRows(): readonly Row[] {
  const share = (files: readonly string[]): string => {
    const lines = files.map((file) => linesOf(textOf(file)));
    const comment = sum(lines.map((each) => each.comment));
    return percent(comment / (comment + sum(lines.map((each) => each.code))));
  };
  const core = product.filter((file) => file.startsWith('libs/core/'));
  return [['comment share of lines (core)', `${share(product)} (${share(core)})`]];
}

function testRows(): readonly Row[] {
  const ratio = (under: string): string => {
    const lines = (test: boolean): number =>
      sum(
        sources
          .filter((file) => file.startsWith(under) && isTest(file) === test)
          .map((file) => linesOf(textOf(file)).code),
      );
    return (lines(true) / lines(false)).toFixed(2);
  };
  const core = product.filter(
    (file) => file.startsWith('libs/core/') && !file.endsWith('/index.ts'),
  );
  const beside = core.filter((file) => sources.includes(file.replace(/\.ts$/, '.test.ts')));
  return [
    ['test to source, core', ratio('libs/core/')],
    ['test to source, all', ratio('')],
    ['core files with a test beside them', `${beside.length} of ${core.length}`],
  ];
}

const npmName = (path: string): string | undefined =>
  /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];

/**
 * Packages from npm that our code in a service's bundle imports, and the number of packages that
 * come with them.
 */
async function closureOf(app: string): Promise<{ readonly direct: number; readonly all: number }> {
  const { metafile } = await build({
    entryPoints: [`apps/${app}/src/main.ts`],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    outdir: 'unused',
    conditions: ['@dovetail/source'],
    logLevel: 'error',
  });
  const inputs = Object.entries(metafile.inputs);
  const direct = inputs
    .filter(([file]) => npmName(file) === undefined)
    .flatMap(([, { imports }]) => imports.flatMap(({ path }) => npmName(path) ?? []));
  const all = inputs.flatMap(([file]) => npmName(file) ?? []);
  return { direct: new Set(direct).size, all: new Set(all).size };
}

async function houseRows(): Promise<readonly Row[]> {
  const packages = workspacePackages();
  const names = new Set(packages.map(({ name }) => name));
  const edges = packages.flatMap(({ name, files }) => {
    const used = new Set(files.flatMap(importsOf).flatMap((each) => packageOf(each) ?? []));
    return [...used].filter((to) => to !== name && names.has(to));
  });
  const knots = packages.flatMap((each) => knotsOf(arrowsOf(each)));
  const apps = ['pod-watcher', 'solver', 'launcher', 'reaper', 'console', 'sinks'];
  const closures = await Promise.all(apps.map(closureOf));
  return [
    ['knots, folders in them', `${knots.length}, ${sum(knots.map((knot) => knot.length))}`],
    ['projects, edges between them', `${packages.length}, ${edges.length}`],
    ...apps.map((app, index): Row => {
      const { direct = 0, all = 0 } = closures[index] ?? {};
      return [`npm packages of ${app} (with theirs)`, `${direct} (${all})`];
    }),
  ];
}

const page = 'CONTRIBUTING.md';
const rowOf = ([figure, value]: Row): string => `| ${figure} | ${value} |`;

/** Replaces the table under the heading "Figures". */
function write(rows: readonly Row[]): void {
  const [above = '', section = ''] = textOf(page).split('\n## Figures\n');
  const text = section.split('\n| figure |')[0] ?? '';
  const table = ['| figure | now |', '|---|---|', ...rows.map(rowOf)].join('\n');
  writeFileSync(page, `${above}\n## Figures\n${text}\n${table}\n`);
}

const numbersIn = (value: string): readonly number[] =>
  [...value.matchAll(/[\d.]+/g)].map(([digits]) => Number(digits));
/** Small changes of the code need no new table. */
const isNear = (told: number, measured: number): boolean =>
  Math.abs(told - measured) <= Math.max(0.1 * Math.abs(measured), 2);

/** The figures of the page that the code has left behind, as `figure: told, and it is measured`. */
export async function staleFigures(): Promise<readonly string[]> {
  const text = textOf(page);
  return (await figures()).flatMap(([figure, measured]) => {
    const told = text.split(`\n| ${figure} | `)[1]?.split(' |\n')[0] ?? 'nothing';
    const [before, now] = [numbersIn(told), numbersIn(measured)];
    const holds =
      before.length === now.length && before.every((one, index) => isNear(one, now[index] ?? 0));
    return holds ? [] : [`${figure}: ${told}, and it is ${measured}`];
  });
}

/** Every figure of the house with its value, as the page has them. */
async function figures(): Promise<readonly Row[]> {
  return [...sizeRows(), ...proseRows(), ...testRows(), ...(await houseRows())];
}

if (process.argv[1] === import.meta.filename) {
  const rows = await figures();
  if (args.includes('--write')) write(rows);
  else process.stdout.write(`${rows.map(rowOf).join('\n')}\n`);
}
