import { compatible, describeTaint } from '@dovetail/core-kube-model';
import { timesFitting, type Engine } from '../build/engine.js';
import type { Bin } from '../build/bin.js';
import { anyClash } from '../build/bin.js';
import type { PodClass } from '../model/classes.js';
import { taintAgainst, type Shape } from '../model/shapes.js';
import type { Reason, ReasonCode } from '../plan.js';

type Fall = { readonly code: ReasonCode; readonly detail: string; readonly values: Readonly<Record<string, string>>; readonly remedy?: string };

function fallOn(engine: Engine, bin: Bin, cls: PodClass, shape: Shape): Fall {
  const room = bin.room as NonNullable<Bin['room']>;
  const taint = taintAgainst(shape, room.node.taints);
  if (taint !== undefined) return { code: 'taint-not-tolerated', detail: `taint ${describeTaint(taint)} is not tolerated`, values: { taint: describeTaint(taint) }, remedy: `add a toleration for ${describeTaint(taint)}` };
  const [mismatch] = compatible(room.requirements, shape.requirements, { allowUndefined: new Set() });
  if (mismatch !== undefined) return { code: 'requirement-mismatch', detail: `label ${mismatch.key} is not ${mismatch.wanted}`, values: { key: mismatch.key, wanted: mismatch.wanted } };
  if (timesFitting(room.free, bin.used, cls.requests) === 0) return { code: 'node-full', detail: 'not enough room is left', values: {} };
  if (anyClash([...room.hostPorts, ...bin.ports], cls.pod.hostPorts)) return { code: 'host-port', detail: 'a host port is taken', values: { port: String(cls.pod.hostPorts[0]?.port ?? '') } };
  if (cls.attachments.some((one) => room.volumeRoom.has(one.driver))) return { code: 'volume-limit', detail: 'no more volumes can be attached', values: {} };
  return { code: 'topology-spread', detail: 'spread or affinity keeps the pod away', values: {} };
}

/** Existing nodes, grouped by the first thing that ruled them out; one reason each, most nodes first. */
export function nodeReasons(engine: Engine, cls: PodClass): readonly Reason[] {
  const shape = cls.levels.at(-1)?.shapes[0];
  const of = engine.world.snapshot.nodes.length;
  if (of === 0 || shape === undefined) return [];
  const falls = new Map<string, { readonly fall: Fall; count: number }>();
  const note = (fall: Fall, count: number): void => {
    const known = falls.get(`${fall.code} ${fall.detail}`);
    if (known === undefined) falls.set(`${fall.code} ${fall.detail}`, { fall, count });
    else known.count += count;
  };
  const closed = of - engine.existing.length;
  if (closed > 0) note({ code: 'node-cordoned', detail: 'cordoned or being deleted', values: {} }, closed);
  for (const bin of engine.existing) note(fallOn(engine, bin, cls, shape), 1);
  return [...falls.values()].sort((a, b) => b.count - a.count || (a.fall.detail < b.fall.detail ? -1 : 1)).map(({ fall, count }) => ({
    code: fall.code, subject: 'existing nodes', values: fall.values, fell: { count, of }, message: `${count} of ${of} existing nodes: ${fall.detail}`,
    ...(fall.remedy === undefined ? {} : { remedy: fall.remedy }),
  }));
}
