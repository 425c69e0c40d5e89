import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { importsOf, packageOf, trackedFiles, workspacePackages } from '@dovetail/tools/workspace';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * Nx caches by its project graph. Without an edge, a cached check stays green over broken code. So
 * this test compares the graph with the imports in the sources, and breaks a dependency to see its
 * dependent fail.
 */
const root = join(import.meta.dirname, '..', '..');
const scratch = mkdtempSync(join(tmpdir(), 'dovetail-graph-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const environment = { ...process.env, NX_DAEMON: 'false', CI: 'true' };

const packages = workspacePackages();
const names = new Set(packages.map(({ name }) => name));
/** Every pair of a package and a package that one of its files imports. */
const imported = packages.flatMap(({ name, files }) => {
  const used = new Set(files.flatMap(importsOf).flatMap((each) => packageOf(each) ?? []));
  return [...used].filter((to) => to !== name && names.has(to)).map((to) => `${name} -> ${to}`);
});

type Graph = {
  readonly dependencies: Readonly<Record<string, readonly { readonly target: string }[]>>;
};

function edgesOfGraph(): readonly string[] {
  const file = join(scratch, 'graph.json');
  execFileSync('npx', ['nx', 'graph', `--file=${file}`], { cwd: root, env: environment });
  const { graph } = JSON.parse(readFileSync(file, 'utf8')) as { readonly graph: Graph };
  return Object.entries(graph.dependencies).flatMap(([from, targets]) =>
    targets.map(({ target }) => `${from} -> ${target}`),
  );
}

/** A project that reaches itself, if any, as the path of the cycle. */
function cycleIn(edges: readonly string[]): readonly string[] | undefined {
  const targets = new Map<string, string[]>();
  for (const edge of edges) {
    const [from = '', to = ''] = edge.split(' -> ');
    targets.set(from, [...(targets.get(from) ?? []), to]);
  }
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const target of targets.get(name) ?? []) {
      const cycle = visit(target, [...path, name]);
      if (cycle !== undefined) return cycle;
    }
    done.add(name);
    return undefined;
  };
  for (const name of targets.keys()) {
    const cycle = visit(name, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

describe('the project graph', () => {
  let edges: readonly string[] = [];
  beforeAll(() => {
    edges = edgesOfGraph();
  });

  test('has an edge for each workspace import', () => {
    expect(imported.length).toBeGreaterThan(100);
    expect(imported.filter((edge) => !edges.includes(edge))).toEqual([]);
  });

  test('has no cycle', () => {
    expect(cycleIn(edges)).toBeUndefined();
    expect(cycleIn([...edges, '@dovetail/core-ports -> @dovetail/service-solver'])).toBeDefined();
  });

  test('names every dependent of a changed file as affected', () => {
    const shown = execFileSync(
      'npx',
      ['nx', 'show', 'projects', '--affected', '--files=libs/core/ports/src/clock.ts'],
      { cwd: root, encoding: 'utf8', env: environment },
    );
    const dependents = imported
      .filter((edge) => edge.endsWith('-> @dovetail/core-ports'))
      .map((edge) => edge.split(' -> ')[0]);
    expect(dependents.length).toBeGreaterThan(10);
    expect(shown.split('\n')).toEqual(expect.arrayContaining(dependents));
  });
});

/** The tracked sources in a folder of their own, with the installed packages. */
function copyOfTheTree(): string {
  const copy = join(scratch, 'tree');
  const wanted = trackedFiles('*.ts', '*.json', '*.js', '*.mjs', '.gitignore', 'proto');
  for (const file of wanted) cpSync(join(root, file), join(copy, file));
  cpSync(join(root, 'libs/contracts/gen'), join(copy, 'libs/contracts/gen'), { recursive: true });
  const modules = join(copy, 'node_modules');
  mkdirSync(join(modules, '@dovetail'), { recursive: true });
  for (const entry of readdirSync(join(root, 'node_modules')))
    if (entry !== '@dovetail' && entry !== '.cache')
      symlinkSync(join(root, 'node_modules', entry), join(modules, entry));
  for (const { name, folder } of packages) symlinkSync(join(copy, folder), join(modules, name));
  return copy;
}

describe('a cached check', () => {
  const copy = copyOfTheTree();
  const check = (): number | null =>
    spawnSync('npx', ['nx', 'run', '@dovetail/core-disruption:typecheck'], {
      cwd: copy,
      env: environment,
    }).status;
  const dependency = join(copy, 'libs/core/kube-model/src/index.ts');

  test('is run again, and fails, once a dependency has lost what it uses', () => {
    expect(check()).toBe(0);
    expect(check()).toBe(0);
    const text = readFileSync(dependency, 'utf8');
    writeFileSync(dependency, 'export {};\n');
    expect(check()).not.toBe(0);
    writeFileSync(dependency, text);
    expect(check()).toBe(0);
  });
});
