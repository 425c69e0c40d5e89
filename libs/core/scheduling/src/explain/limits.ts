import { lookUp } from '@dovetail/core-invariant';

import type { State } from '../match/states.js';
import type { PodClass } from '../model/classes.js';
import { valuesAmong } from '../model/min-values.js';
import { chargeOf, type Template } from '../model/templates.js';
import type { Reason } from '../reasons.js';
import { Accounts, cheapestTypes, offersFor } from '../rooms/accounts.js';
import type { Engine } from '../rooms/engine.js';
import { shown } from './amounts.js';
import { demandOnPool } from './demand.js';

/**
 * Names the pods that this plan has put on nodes of a pool, as the end of a sentence and as a
 * value.
 */
function takers(
  engine: Engine,
  template: Template,
): { readonly text: string; readonly by: Readonly<Record<string, string>> } {
  const by = demandOnPool(engine, template);
  return by === ''
    ? { text: '', by: {} }
    : { text: `; this plan gave its nodes to ${by}`, by: { by } };
}

function limitReason(
  engine: Engine,
  state: State,
  load: { readonly used: Float64Array; readonly ports: PodClass['pod']['hostPorts'] },
): Reason {
  const { template } = state;
  const subject = template.key;
  const offers = offersFor(state, load);
  const names = Object.keys(template.remaining).sort();
  const left = (name: string): number => engine.accounts.left(template, name);
  const least = (name: string): number => Math.min(...offers.map((offer) => chargeOf(offer, name)));
  const taken = takers(engine, template);
  const short = names.find((name) => least(name) > left(name));
  if (short === undefined) {
    const rest = names.map((name) => `${shown(name, left(name))} ${name}`).join(', ');
    return {
      code: 'pool-limit',
      subject,
      values: { left: rest, ...taken.by },
      fell: { count: offers.length, of: offers.length },
      message: `the limits of ${subject} leave ${rest}, and no node that holds this pod is within all of them${taken.text}`,
      remedy: `raise the limits of ${subject}`,
    };
  }
  const limit = lookUp(template.pool.limits, short) ?? 0;
  const raised = shown(short, limit + least(short) - left(short));
  return {
    code: 'pool-limit',
    subject,
    values: {
      limit: `${short}=${shown(short, limit)}`,
      left: shown(short, Math.max(0, left(short))),
      smallest: shown(short, least(short)),
      ...taken.by,
    },
    fell: { count: offers.length, of: offers.length },
    message: `the limit of ${shown(short, limit)} ${short} leaves ${shown(short, Math.max(0, left(short)))} in ${subject}; the smallest node for this pod needs ${shown(short, least(short))}${taken.text}`,
    remedy: `raise the limit ${short} of ${subject} to ${raised}`,
  };
}

function minValuesReason(
  engine: Engine,
  state: State,
  load: Parameters<typeof offersFor>[1],
): Reason {
  const { template } = state;
  const offers = cheapestTypes(offersFor(state, load), engine.world.options.instanceTypesMax);
  const counts = template.minValues.map(({ key, count }) => ({
    key,
    count,
    stay: valuesAmong(state.requirements, offers, key),
  }));
  const short = counts.find(({ count, stay }) => stay < count) ?? counts[0];
  const { key, count, stay } = short ?? { key: '', count: 0, stay: 0 };
  return {
    code: 'min-values',
    subject: template.key,
    values: { key, wanted: String(count), possible: String(stay) },
    message: `${template.key} requires ${count} possible values of ${key}; the types that one node may name leave ${stay} for this pod`,
    remedy: `lower minValues of ${key} to ${stay}, or use the policy BestEffort`,
  };
}

/**
 * Returns the reason why limits, reservations or minValues of a pool exclude the pod; undefined if
 * they do not.
 */
export function accountReason(engine: Engine, state: State, cls: PodClass): Reason | undefined {
  const { template } = state;
  if (!Accounts.applies(template)) return undefined;
  const load = { used: Float64Array.from(cls.requests), ports: cls.pod.hostPorts };
  const chosen = engine.accounts.choose(state, load, undefined);
  if (chosen === 'pool-limit') return limitReason(engine, state, load);
  if (chosen === 'reserved-capacity') {
    const taken = takers(engine, template);
    return {
      code: 'reserved-capacity',
      subject: template.key,
      values: taken.by,
      message: `the capacity reservation that the pod could use has no instance left; the pod waits for the next round${taken.text}`,
      remedy: 'enlarge the reservation, or let reserved offerings fall back',
    };
  }
  return engine.world.options.minValuesPolicy === 'Strict' &&
    !engine.accounts.keepsMinValues(state, load)
    ? minValuesReason(engine, state, load)
    : undefined;
}
