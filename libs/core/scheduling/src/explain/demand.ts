import type { PodClass } from '../model/classes.js';
import type { Template } from '../model/templates.js';
import type { Bin } from '../rooms/bin.js';
import type { Engine } from '../rooms/engine.js';

/** The most demands that a reason names, so that a sentence stays readable when thousands apply. */
const namedMax = 5;

const nameOf = (cls: PodClass, pods: number): string =>
  `${cls.pod.namespace}/${cls.pod.name}${pods > 1 ? ` (${pods} pods)` : ''}`;

/**
 * Writes pods by class, the most first, as `default/web-0 (12 pods), …`; empty if there are none.
 */
export function demandText(pods: ReadonlyMap<PodClass, number>): string {
  const sorted = [...pods]
    .filter(([, count]) => count > 0)
    .sort(([a, m], [b, n]) => n - m || a.index - b.index);
  const more = sorted.length > namedMax ? [`and ${sorted.length - namedMax} more`] : [];
  return [...sorted.slice(0, namedMax).map(([cls, count]) => nameOf(cls, count)), ...more].join(
    ', ',
  );
}

/** Returns the pods that this plan has put on some nodes, by class. */
export function demandOn(bins: Iterable<Bin>): ReadonlyMap<PodClass, number> {
  const pods = new Map<PodClass, number>();
  for (const bin of bins)
    for (const [item, count] of bin.contents) pods.set(item.cls, (pods.get(item.cls) ?? 0) + count);
  return pods;
}

type Takers = { all?: string; readonly byTemplate: Map<Template, string> };
// The texts of an engine are kept, because every class without a place needs them. Invariant: they
// are written after the plan is complete.
const known = new WeakMap<Engine, Takers>();

function takersOf(engine: Engine): Takers {
  const takers = known.get(engine) ?? { byTemplate: new Map() };
  known.set(engine, takers);
  return takers;
}

/** Returns all pods that a finished plan has placed as text. */
export function demandPlaced(engine: Engine): string {
  const takers = takersOf(engine);
  return (takers.all ??= demandText(demandOn([...engine.existing, ...engine.fresh])));
}

/** Returns the pods that a finished plan has put on new nodes of a pool as text. */
export function demandOnPool(engine: Engine, template: Template): string {
  const { byTemplate } = takersOf(engine);
  const text =
    byTemplate.get(template) ??
    demandText(demandOn(engine.fresh.filter((bin) => bin.state?.template === template)));
  byTemplate.set(template, text);
  return text;
}
