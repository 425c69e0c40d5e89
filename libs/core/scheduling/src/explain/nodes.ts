import { compatible, describeTaint, formatResources } from '@dovetail/core-kube-model';
import { anyClash, type Bin } from '../build/bin.js';
import { timesFitting, type Engine } from '../build/engine.js';
import type { PodClass } from '../model/classes.js';
import { taintAgainst, type Shape } from '../model/shapes.js';
import type { Reason, ReasonCode } from '../plan.js';
import { rolesOf } from '../topology/roles.js';
import { demandOn, demandText } from './demand.js';
import { codeOf, ruleText } from './topology.js';

/** What ruled out one node. `key` says which falls are alike; `short`: what was asked and what was left. */
type Fall = { readonly code: ReasonCode; readonly key: string; readonly detail: string; readonly values: Readonly<Record<string, string>>; readonly remedy: string; readonly short?: { readonly resource: string; readonly wanted: number; readonly left: number } };

const shown = (name: string, amount: number): string => formatResources({ [name]: Math.max(0, amount) })[name] ?? String(amount);

function fullFall(engine: Engine, bin: Bin, cls: PodClass): Fall {
  const free = bin.room?.free ?? new Float64Array();
  const names = engine.world.dimensions.names;
  const left = (index: number): number => (free[index] ?? 0) - (bin.used[index] ?? 0);
  const index = names.findIndex((_, at) => (cls.requests[at] ?? 0) > 0 && (cls.requests[at] ?? 0) > left(at));
  const resource = names[index] ?? '';
  return { code: 'node-full', key: resource, detail: '', values: {}, remedy: '', short: { resource, wanted: cls.requests[index] ?? 0, left: left(index) } };
}

function fallOn(engine: Engine, bin: Bin, cls: PodClass, shape: Shape): Fall {
  const room = bin.room as NonNullable<Bin['room']>;
  const taint = taintAgainst(shape, room.node.taints);
  if (taint !== undefined) {
    const text = describeTaint(taint);
    return { code: 'taint-not-tolerated', key: text, detail: `taint ${text} is not tolerated`, values: { taint: text }, remedy: `add a toleration for ${text}` };
  }
  const [mismatch] = compatible(room.requirements, shape.requirements, { allowUndefined: new Set() });
  if (mismatch !== undefined) return { code: 'requirement-mismatch', key: mismatch.key, detail: `label ${mismatch.key} is not ${mismatch.wanted}`, values: { key: mismatch.key, wanted: mismatch.wanted }, remedy: `drop ${mismatch.key} from the pod` };
  if (!engine.nodeAdmits(room, shape)) return { code: 'requirement-mismatch', key: 'open', detail: 'labels that the pod asks for are not decided yet', values: {}, remedy: 'wait until the node has joined' };
  if (timesFitting(room.free, bin.used, cls.requests) === 0) return fullFall(engine, bin, cls);
  const ports = [...room.hostPorts, ...bin.ports];
  const port = cls.pod.hostPorts.find((one) => anyClash(ports, [one]));
  if (port !== undefined) return { code: 'host-port', key: String(port.port), detail: `host port ${port.port} is taken`, values: { port: String(port.port) }, remedy: 'use another host port, or none' };
  const level = cls.levels.at(-1);
  const roles = level === undefined ? undefined : rolesOf(cls, level);
  const closed = roles?.onHost.find((role) => engine.ledger.roomOnHost(role, bin.hosts) <= 0);
  if (closed !== undefined) return { code: codeOf(closed), key: closed.group.text, detail: `${ruleText(closed)} keeps the pod away`, values: { key: closed.group.key }, remedy: 'relax the rule' };
  const driver = cls.attachments.find((one) => room.volumeRoom.has(one.driver))?.driver;
  const [domain] = roles?.onDomain ?? [];
  if (driver !== undefined && domain === undefined) return { code: 'volume-limit', key: driver, detail: `no more volumes of ${driver} can be attached`, values: { driver, limit: String(room.volumeRoom.get(driver)?.limit ?? 0) }, remedy: 'spread the volumes over more nodes' };
  return { code: domain === undefined ? 'displaced' : codeOf(domain), key: domain?.group.text ?? '', detail: domain === undefined ? 'other pods of this plan came first' : `${ruleText(domain)} keeps the pod away`, values: domain === undefined ? {} : { key: domain.group.key }, remedy: 'relax the rule' };
}

type Fallen = { readonly fall: Fall; readonly bins: Bin[]; count: number; most: number };

function reasonOf({ fall, bins, count, most }: Fallen, of: number): Reason {
  const by = demandText(demandOn(bins));
  const taken = by === '' ? '' : `; this plan put ${by} there`;
  const shared = { code: fall.code, subject: 'existing nodes', fell: { count, of } };
  if (fall.short === undefined) return { ...shared, values: fall.values, message: `${count} of ${of} existing nodes: ${fall.detail}`, ...(fall.remedy === '' ? {} : { remedy: fall.remedy }) };
  const { resource, wanted } = fall.short;
  return {
    ...shared, values: { resource, requested: shown(resource, wanted), largest: shown(resource, most), ...(by === '' ? {} : { by }) },
    message: `${count} of ${of} existing nodes: not enough ${resource}; ${shown(resource, wanted)} asked for, at most ${shown(resource, most)} left${taken}`,
    remedy: `ask for at most ${shown(resource, most)} ${resource}`,
  };
}

/** Existing nodes, grouped by the first thing that ruled them out; one reason each, most nodes first. */
export function nodeReasons(engine: Engine, cls: PodClass): readonly Reason[] {
  const shape = cls.levels.at(-1)?.shapes[0];
  const of = engine.world.snapshot.nodes.length;
  if (of === 0 || shape === undefined) return [];
  const groups = new Map<string, Fallen>();
  for (const bin of engine.existing) {
    const fall = fallOn(engine, bin, cls, shape);
    const text = `${fall.code} ${fall.key}`;
    const group = groups.get(text) ?? { fall, bins: [], count: 0, most: -Infinity };
    groups.set(text, group);
    group.bins.push(bin);
    group.count += 1;
    group.most = Math.max(group.most, fall.short?.left ?? -Infinity);
  }
  const closed = of - engine.existing.length;
  const shut: Fallen[] = closed === 0 ? [] : [{ fall: { code: 'node-cordoned', key: '', detail: 'cordoned or being deleted', values: {}, remedy: '' }, bins: [], count: closed, most: 0 }];
  return [...groups.values(), ...shut].sort((a, b) => b.count - a.count || (a.fall.code + a.fall.key < b.fall.code + b.fall.key ? -1 : 1)).map((fallen) => reasonOf(fallen, of));
}
