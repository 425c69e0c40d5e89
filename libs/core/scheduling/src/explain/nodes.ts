import { float64At, present } from '@dovetail/core-invariant';
import { compareText, compatible, describeTaint } from '@dovetail/core-kube-model';

import type { PodClass } from '../model/classes.js';
import { anyClash } from '../model/host-ports.js';
import type { NodeRoom } from '../model/nodes.js';
import { type Shape, taintAgainst } from '../model/shapes.js';
import type { Reason, ReasonCode } from '../reasons.js';
import { type Bin } from '../rooms/bin.js';
import { type Engine } from '../rooms/engine.js';
import { timesFitting } from '../rooms/fitting.js';
import { type Role, type Roles, rolesOf } from '../topology/roles.js';
import { shown, shownBeside } from './amounts.js';
import { demandOn, demandText } from './demand.js';
import { codeOf, ruleText } from './topology.js';

/**
 * The reason why one node is excluded. Nodes with the same `code` and `key` are reported together.
 * `short` has the requested and the free amount.
 */
type Fall = {
  readonly code: ReasonCode;
  readonly key: string;
  readonly detail: string;
  readonly values: Readonly<Record<string, string>>;
  readonly remedy: string;
  readonly short?: { readonly resource: string; readonly wanted: number; readonly left: number };
};

function fullFall(engine: Engine, bin: Bin, cls: PodClass): Fall {
  const free = bin.room?.free ?? new Float64Array();
  const names = engine.world.dimensions.names;
  const left = (index: number): number => float64At(free, index) - float64At(bin.used, index);
  const index = names.findIndex(
    (_, at) => float64At(cls.requests, at) > 0 && float64At(cls.requests, at) > left(at),
  );
  const resource = names[index] ?? '';
  return {
    code: 'node-full',
    key: resource,
    detail: '',
    values: {},
    remedy: '',
    short: { resource, wanted: float64At(cls.requests, index), left: left(index) },
  };
}

/** An existing node that excludes a class at its most relaxed level. */
type Closed = {
  readonly engine: Engine;
  readonly bin: Bin;
  readonly room: NodeRoom;
  readonly cls: PodClass;
  readonly shape: Shape;
  readonly roles: Roles | undefined;
};

function taintFall({ room, shape }: Closed): Fall | undefined {
  const taint = taintAgainst(shape, room.node.taints);
  if (taint === undefined) return undefined;
  const text = describeTaint(taint);
  return {
    code: 'taint-not-tolerated',
    key: text,
    detail: `taint ${text} is not tolerated`,
    values: { taint: text },
    remedy: `add a toleration for ${text}`,
  };
}

function labelFall({ engine, room, shape }: Closed): Fall | undefined {
  const [mismatch] = compatible(room.requirements, shape.requirements, {
    allowUndefined: new Set(),
  });
  if (mismatch !== undefined)
    return {
      code: 'requirement-mismatch',
      key: mismatch.key,
      detail: `label ${mismatch.key} is not ${mismatch.wanted}`,
      values: { key: mismatch.key, wanted: mismatch.wanted },
      remedy: `drop ${mismatch.key} from the pod`,
    };
  if (engine.nodeAdmits(room, shape)) return undefined;
  return {
    code: 'requirement-mismatch',
    key: 'open',
    detail: 'labels that the pod requires are not decided yet',
    values: {},
    remedy: 'wait until the node has joined',
  };
}

const resourceFall = ({ engine, bin, room, cls }: Closed): Fall | undefined =>
  timesFitting(room.free, bin.used, cls.requests) === 0 ? fullFall(engine, bin, cls) : undefined;

function portFall({ bin, room, cls }: Closed): Fall | undefined {
  const ports = [...room.hostPorts, ...bin.ports];
  const port = cls.pod.hostPorts.find((one) => anyClash(ports, [one]));
  if (port === undefined) return undefined;
  return {
    code: 'host-port',
    key: String(port.port),
    detail: `host port ${port.port} is taken`,
    values: { port: String(port.port) },
    remedy: 'use another host port, or none',
  };
}

function ruleFall({ code, text, key }: { code: ReasonCode; text: string; key: Role }): Fall {
  return {
    code,
    key: key.group.text,
    detail: `${text} keeps the pod away`,
    values: { key: key.group.key },
    remedy: 'relax the rule',
  };
}

function hostRuleFall({ engine, bin, roles }: Closed): Fall | undefined {
  const closed = roles?.onHost.find((role) => engine.ledger.roomOnHost(role, bin.hosts) <= 0);
  return closed === undefined
    ? undefined
    : ruleFall({ code: codeOf(closed), text: ruleText(closed), key: closed });
}

function volumeFall({ room, cls, roles }: Closed): Fall | undefined {
  const driver = cls.attachments.find((one) => room.volumeRoom.has(one.driver))?.driver;
  if (driver === undefined || roles?.onDomain[0] !== undefined) return undefined;
  return {
    code: 'volume-limit',
    key: driver,
    detail: `the node cannot attach another volume of ${driver}`,
    values: { driver, limit: String(room.volumeRoom.get(driver)?.limit ?? 0) },
    remedy: 'spread the volumes over more nodes',
  };
}

/**
 * Returns the reason if the node itself would take the pod: a rule over domains, or pods placed
 * before.
 */
function lastFall({ roles }: Closed): Fall {
  const domain = roles?.onDomain[0];
  return domain === undefined
    ? {
        code: 'displaced',
        key: '',
        detail: 'other pods of this plan took the room',
        values: {},
        remedy: 'relax the rule',
      }
    : ruleFall({ code: codeOf(domain), text: ruleText(domain), key: domain });
}

/**
 * The checks in the order in which kube-scheduler would make them. The first that fails is the
 * reason.
 */
const falls = [taintFall, labelFall, resourceFall, portFall, hostRuleFall, volumeFall] as const;

function fallOn(engine: Engine, bin: Bin, cls: PodClass, shape: Shape): Fall {
  const level = cls.levels.at(-1);
  const closed: Closed = {
    engine,
    bin,
    room: present(bin.room, 'an existing bin has a room'),
    cls,
    shape,
    roles: level === undefined ? undefined : rolesOf(cls, level),
  };
  for (const ask of falls) {
    const fall = ask(closed);
    if (fall !== undefined) return fall;
  }
  return lastFall(closed);
}

type Fallen = { readonly fall: Fall; readonly bins: Bin[]; count: number; most: number };

function reasonOf({ fall, bins, count, most }: Fallen, of: number): Reason {
  const by = demandText(demandOn(bins));
  const taken = by === '' ? '' : `; this plan put ${by} there`;
  const shared = { code: fall.code, subject: 'existing nodes', fell: { count, of } };
  if (fall.short === undefined)
    return {
      ...shared,
      values: fall.values,
      message: `${count} of ${of} existing nodes: ${fall.detail}`,
      ...(fall.remedy === '' ? {} : { remedy: fall.remedy }),
    };
  const { resource, wanted } = fall.short;
  const free = shownBeside(resource, most, wanted);
  return {
    ...shared,
    values: {
      resource,
      requested: shown(resource, wanted),
      largest: free,
      ...(by === '' ? {} : { by }),
    },
    message: `${count} of ${of} existing nodes: not enough ${resource}; ${shown(resource, wanted)} requested, at most ${free} free${taken}`,
    remedy: `ask for at most ${free} ${resource}`,
  };
}

/**
 * Groups existing nodes by the first check that excludes them. Returns one reason per group, most
 * nodes first.
 */
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
  const shut: Fallen[] =
    closed === 0
      ? []
      : [
          {
            fall: {
              code: 'node-cordoned',
              key: '',
              detail: 'cordoned or being deleted',
              values: {},
              remedy: '',
            },
            bins: [],
            count: closed,
            most: 0,
          },
        ];
  return [...groups.values(), ...shut]
    .sort(
      (a, b) =>
        b.count - a.count || compareText(a.fall.code + a.fall.key, b.fall.code + b.fall.key),
    )
    .map((fallen) => reasonOf(fallen, of));
}
