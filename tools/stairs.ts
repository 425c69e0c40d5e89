// Finds knots: folders of one library that need each other in a circle, so that none of them can be
// read first.
import { dirname, join, normalize } from 'node:path';

import { importsOf, isTest, type WorkspacePackage } from './workspace.js';

type Arrows = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * The room of a file: the first folder under `src`, or the file itself if it lies there directly.
 */
function roomOf(file: string, source: string): string {
  const [first = '', ...rest] = file.slice(source.length + 1).split('/');
  return rest.length === 0 ? first : `${first}/`;
}

/** The rooms that each room of a package imports, types included, tests apart. */
export function arrowsOf({ folder, files }: WorkspacePackage): Arrows {
  const source = `${folder}/src`;
  const own = files.filter((file) => file.startsWith(`${source}/`) && !isTest(file));
  const arrows = new Map<string, Set<string>>();
  for (const file of own) {
    const from = roomOf(file, source);
    const targets = arrows.get(from) ?? new Set<string>();
    arrows.set(from, targets);
    for (const specifier of importsOf(file).filter((each) => each.startsWith('.'))) {
      const target = normalize(join(dirname(file), specifier.replace(/\.js$/, '.ts')));
      if (target.startsWith(`${source}/`) && roomOf(target, source) !== from)
        targets.add(roomOf(target, source));
    }
  }
  return arrows;
}

/** Every room that can be reached from `room` by one arrow or more. */
function reachedFrom(arrows: Arrows, room: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [room];
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const target of arrows.get(next) ?? [])
      if (!reached.has(target)) {
        reached.add(target);
        open.push(target);
      }
  return reached;
}

/**
 * The knots of a package: sets of rooms that all reach each other. Empty if its rooms have an
 * order.
 */
export function knotsOf(arrows: Arrows): readonly (readonly string[])[] {
  const reach = new Map([...arrows.keys()].map((room) => [room, reachedFrom(arrows, room)]));
  const knots = new Map<string, readonly string[]>();
  for (const [room, reached] of reach) {
    if (!reached.has(room)) continue;
    const knot = [...reached].filter((other) => reach.get(other)?.has(room)).toSorted();
    knots.set(knot.join(' '), knot);
  }
  return [...knots.values()];
}
