import { type Pool, poolKey } from '@dovetail/core-api';
import { float64At, present } from '@dovetail/core-invariant';
import { compatible, describeTaint, isEmptySet } from '@dovetail/core-kube-model';

import type { State } from '../match/states.js';
import type { PodClass } from '../model/classes.js';
import { anyClash } from '../model/host-ports.js';
import { type Shape, taintAgainst } from '../model/shapes.js';
import { isOpen, type Template } from '../model/templates.js';
import type { Reason } from '../reasons.js';
import type { Engine } from '../rooms/engine.js';
import { accountReason } from './limits.js';
import { noOfferReason } from './offers.js';
import { sizeReason } from './sizes.js';
import { lateReason, topologyReason } from './topology.js';
import { mismatchReason, typeReason } from './types.js';

/** Returns the reason why planning opens no nodes in a pool; undefined if it may. */
export function closedReason(pool: Pool): Reason | undefined {
  const subject = poolKey(pool.identity);
  if (pool.replicas !== undefined)
    return {
      code: 'pool-static',
      subject,
      values: { replicas: String(pool.replicas) },
      message: `${subject} is static (spec.replicas): it opens no nodes for pods`,
      remedy: 'create a pool without spec.replicas',
    };
  if (pool.deletionMs !== undefined)
    return {
      code: 'pool-deleting',
      subject,
      values: {},
      message: `${subject} is being deleted`,
      remedy: 'create another pool',
    };
  if (!pool.ready)
    return {
      code: 'pool-not-ready',
      subject,
      values: {},
      message: `${subject} or its class is not ready; see its status`,
      remedy: `make ${subject} ready`,
    };
  return undefined;
}

function portReason(subject: string, cls: PodClass, types: number): Reason {
  const port = cls.pod.hostPorts[0]?.port ?? 0;
  return {
    code: 'host-port',
    subject,
    values: { port: String(port) },
    fell: { count: types, of: types },
    message: `host port ${port} is taken by a daemonset on every type of ${subject}`,
    remedy: 'use another host port, or none',
  };
}

/** Returns the reason if a pool's labels and requirements leave no value for some label. */
function contradiction({ key: subject, requirements }: Template): Reason | undefined {
  const [key] = [...requirements]
    .flatMap(([name, set]) => (set.present && isEmptySet(set) ? [name] : []))
    .sort();
  if (key === undefined) return undefined;
  return {
    code: 'no-offering',
    subject,
    values: { key },
    message: `the labels and requirements of ${subject} leave no value for ${key}`,
    remedy: `change the labels or requirements of ${subject} so that they agree on ${key}`,
  };
}

/** Returns the reason if a taint, missing offers, or a label of the template excludes the class. */
function templateFall(engine: Engine, template: Template, shape: Shape): Reason | undefined {
  const subject = template.key;
  const { wellKnown } = engine.world;
  const types = typesOf(template);
  const taint = taintAgainst(shape, template.pool.taints);
  if (taint !== undefined)
    return {
      code: 'taint-not-tolerated',
      subject,
      values: { taint: describeTaint(taint) },
      fell: { count: types, of: types },
      message: `the pod does not tolerate ${describeTaint(taint)} of ${subject}`,
      remedy: `add a toleration for ${describeTaint(taint)}`,
    };
  if (template.offers.length === 0) return noOfferReason(engine, template);
  const contradictory = contradiction(template);
  if (contradictory !== undefined) return contradictory;
  const [mismatch] = compatible(template.requirements, shape.requirements, {
    allowUndefined: wellKnown,
  });
  if (mismatch === undefined) return undefined;
  return mismatchReason(subject, {
    mismatch,
    offers: template.offers,
    steps: [],
    keys: [...wellKnown, ...template.requirements.keys()],
  });
}

const typesOf = (template: Template): number =>
  new Set(template.offers.map(({ type }) => type)).size;

const hasRoom = (state: State, cls: PodClass): boolean =>
  state.widest.some((room) =>
    room.every((amount, index) => amount >= float64At(cls.requests, index)),
  );

const hasPorts = (state: State, cls: PodClass): boolean =>
  cls.pod.hostPorts.length === 0 ||
  state.offers.some(({ type }) => !anyClash(type.hostPorts, cls.pod.hostPorts));

/**
 * Returns the first check of a template that no offer passes for this class at its most relaxed
 * level.
 */
export function templateReason(engine: Engine, template: Template, cls: PodClass): Reason {
  const shape = present(cls.levels.at(-1)?.shapes[0], 'a class that is not refused has a shape');
  const fall = templateFall(engine, template, shape);
  if (fall !== undefined) return fall;
  const { states } = engine.world;
  const state = states.after(states.root(template), shape);
  if (state === undefined) return typeReason(template, shape);
  if (!hasRoom(state, cls)) return sizeReason(engine, state, cls);
  if (!hasPorts(state, cls)) return portReason(template.key, cls, typesOf(template));
  return (
    accountReason(engine, state, cls) ??
    topologyReason(engine, template.key, cls) ??
    lateReason(engine, template.key)
  );
}

/** Returns one reason per pool why it cannot take the class. */
export function poolReasons(engine: Engine, cls: PodClass): readonly Reason[] {
  const { snapshot, templates } = engine.world;
  if (snapshot.pools.length === 0)
    return [
      {
        code: 'no-pools',
        values: {},
        message: 'there is no NodePool or Provisioner',
        remedy: 'create a NodePool',
      },
    ];
  const closed = snapshot.pools
    .filter(({ pool }) => !isOpen(pool))
    .flatMap(({ pool }) => closedReason(pool) ?? []);
  return [...templates.map((template) => templateReason(engine, template, cls)), ...closed];
}
