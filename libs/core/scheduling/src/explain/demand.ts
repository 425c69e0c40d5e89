import type { PodClass } from '../model/classes.js';
import type { Template } from '../model/templates.js';
import type { Bin } from '../rooms/bin.js';
import type { Engine } from '../rooms/engine.js';

/** How many demands a reason names; there may be thousands. */
const namedMax = 5;

const nameOf = (cls: PodClass, pods: number): string =>
  `${cls.pod.namespace}/${cls.pod.name}${pods > 1 ? ` (${pods} pods)` : ''}`;

/** Pods by class, most first, as `default/web-0 (12 pods), …`; empty when there are none. */
export function demandText(pods: ReadonlyMap<PodClass, number>): string {
  const sorted = [...pods]
    .filter(([, count]) => count > 0)
    .sort(([a, m], [b, n]) => n - m || a.index - b.index);
  const more = sorted.length > namedMax ? [`and ${sorted.length - namedMax} more`] : [];
  return [...sorted.slice(0, namedMax).map(([cls, count]) => nameOf(cls, count)), ...more].join(
    ', ',
  );
}

/** What this plan has put on some nodes. */
export function demandOn(bins: Iterable<Bin>): ReadonlyMap<PodClass, number> {
  const pods = new Map<PodClass, number>();
  for (const bin of bins)
    for (const [item, count] of bin.contents) pods.set(item.cls, (pods.get(item.cls) ?? 0) + count);
  return pods;
}

type Takers = { all?: string; readonly byTemplate: Map<Template, string> };
// Asked once the plan stands, for every class that is left out.
const known = new WeakMap<Engine, Takers>();

function takersOf(engine: Engine): Takers {
  const takers = known.get(engine) ?? { byTemplate: new Map() };
  known.set(engine, takers);
  return takers;
}

/** Everything that a finished plan has placed, as text. */
export function demandPlaced(engine: Engine): string {
  const takers = takersOf(engine);
  return (takers.all ??= demandText(demandOn([...engine.existing, ...engine.fresh])));
}

/** What a finished plan has put on new nodes of a pool, as text. */
export function demandOnPool(engine: Engine, template: Template): string {
  const { byTemplate } = takersOf(engine);
  const text =
    byTemplate.get(template) ??
    demandText(demandOn(engine.fresh.filter((bin) => bin.state?.template === template)));
  byTemplate.set(template, text);
  return text;
}
