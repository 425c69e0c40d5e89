import { poolKey, type Pool } from '@dovetail/core-api';
import { compatible, describeSet, describeTaint, type RequirementMismatch } from '@dovetail/core-kube-model';
import { Accounts } from '../build/accounts.js';
import type { Engine } from '../build/engine.js';
import { anyClash } from '../build/bin.js';
import type { PodClass } from '../model/classes.js';
import { intersects } from '../model/daemons.js';
import { addTo } from '../model/dimensions.js';
import { taintAgainst, type Shape } from '../model/shapes.js';
import { isOpen, type Offer, type Template } from '../model/templates.js';
import type { State } from '../match/states.js';
import type { Reason } from '../plan.js';
import type { PoolOptions } from '../snapshot.js';
import { lateReason, topologyReason } from './topology.js';
import { typoHint } from './hints.js';

/** Why a pool that planning leaves out is left out; undefined for the others. */
export function closedReason(pool: Pool): Reason | undefined {
  const subject = poolKey(pool.identity);
  if (pool.replicas !== undefined) return { code: 'pool-static', subject, values: { replicas: String(pool.replicas) }, message: `${subject} is static (spec.replicas): it opens no nodes for pods` };
  if (pool.deletionMs !== undefined) return { code: 'pool-deleting', subject, values: {}, message: `${subject} is being deleted` };
  if (!pool.ready) return { code: 'pool-not-ready', subject, values: {}, message: `${subject} or its class is not ready; see its status`, remedy: `make ${subject} ready` };
  return undefined;
}

const typeNames = (offers: readonly Offer[]): ReadonlySet<string> => new Set(offers.map(({ type }) => type.type.name));

function mismatchReason(subject: string, mismatch: RequirementMismatch, fell?: { readonly count: number; readonly of: number }): Reason {
  const hint = typoHint(mismatch);
  return {
    code: 'requirement-mismatch', subject, values: { key: mismatch.key, wanted: mismatch.wanted, offered: mismatch.offered },
    message: `the pod wants ${mismatch.key} ${mismatch.wanted}, ${subject} offers ${mismatch.offered}${hint === undefined ? '' : `; did you mean ${hint}?`}`,
    ...(fell === undefined ? {} : { fell }),
    remedy: hint === undefined ? `let ${subject} offer ${mismatch.key} ${mismatch.wanted}, or drop it from the pod` : `write ${hint}`,
  };
}

/** The first key whose values no type of the template can meet, types counted as they fall. */
function typeReason(engine: Engine, template: Template, shape: Shape): Reason {
  const subject = template.key;
  const all = template.offers;
  const before = typeNames(all).size;
  if (before === 0) return noOfferReason(engine, template);
  for (const [key, set] of shape.requirements) {
    const only = new Map([[key, set]]);
    const state = engine.world.states.after(engine.world.states.root(template), engine.world.shapes.intern(`only ${key} ${describeSet(set)} ${shape.id}`, () => ({ ...shape, requirements: only })));
    if (state !== undefined) continue;
    const offered = [...new Set(all.flatMap(({ type }) => [...(type.type.requirements.get(key)?.values ?? [])]))].sort();
    const shown = offered.length <= 12 ? offered : [...offered.slice(0, 12), `… ${offered.length - 12} more`];
    return mismatchReason(subject, { key, wanted: describeSet(set), offered: `In [${shown.join(', ')}]` }, { count: before, of: before });
  }
  const joint = [...shape.requirements.keys()].sort().join(', ');
  return { code: 'no-offering', subject, values: { keys: joint }, fell: { count: before, of: before }, message: `no type of ${subject} meets ${joint} together, in a zone and capacity type that can be bought` };
}

function noOfferReason(engine: Engine, template: Template): Reason {
  const subject = template.key;
  const options = engine.world.snapshot.pools.find(({ pool }) => poolKey(pool.identity) === subject) as PoolOptions;
  const cap = template.pool.maxPriceMicrosPerHour;
  const of = options.instanceTypes.length;
  const matching = options.instanceTypes.filter((type) => intersects(type.requirements, template.requirements));
  const available = matching.filter((type) => type.offerings.some((offering) => offering.available));
  if (of > 0 && matching.length === 0) return { code: 'no-offering', subject, values: {}, fell: { count: of, of }, message: `${subject} admits none of the ${of} types that its class can boot; widen its requirements` };
  if (available.length === 0) return { code: 'no-capacity', subject, values: {}, fell: { count: matching.length, of }, message: `no type of ${subject} can be bought now: out of capacity, without a subnet or without a price` };
  if (cap !== undefined && available.every((type) => type.offerings.every((offering) => !offering.available || offering.priceMicrosPerHour > cap))) {
    const cheapest = Math.min(...available.flatMap((type) => type.offerings.filter((one) => one.available).map((one) => one.priceMicrosPerHour)));
    return { code: 'price-cap', subject, values: { cap: String(cap), cheapest: String(cheapest) }, fell: { count: available.length, of }, message: `every type of ${subject} costs more than its cap of ${cap} micro-dollars an hour`, remedy: `raise the cap to ${cheapest}` };
  }
  return { code: 'daemonset-overhead', subject, values: {}, fell: { count: available.length, of }, message: `daemonsets alone do not fit on any type of ${subject}` };
}

/** The resource that no type has enough of, and whether the daemonsets are to blame. */
function sizeReason(engine: Engine, state: State, cls: PodClass): Reason {
  const subject = state.template.key;
  const count = typeNames(state.offers).size;
  const fell = { count, of: count };
  const names = engine.world.dimensions.names;
  for (const [index, name] of names.entries()) {
    const wanted = cls.requests[index] ?? 0;
    const largest = Math.max(...state.offers.map(({ type }) => type.room[index] ?? 0));
    if (wanted <= largest) continue;
    const withoutDaemons = Math.max(...state.offers.map(({ type }) => (type.room[index] ?? 0) + (type.overhead[index] ?? 0)));
    const values = { resource: name, requested: String(wanted), largest: String(largest) };
    if (wanted <= withoutDaemons) return { code: 'daemonset-overhead', subject, values, fell, message: `the pod asks for ${wanted} ${name}; beside daemonsets the largest type of ${subject} has ${largest}`, remedy: `ask for at most ${largest} ${name}` };
    const milli = name === 'cpu' && wanted >= 1e9 ? '; did you mean millicores (m)?' : '';
    return { code: 'resources-too-large', subject, values, fell, message: `the pod asks for ${wanted} ${name}, the largest type of ${subject} that it may use has ${largest}${milli}`, remedy: `ask for at most ${largest} ${name}, or allow larger types in ${subject}` };
  }
  return { code: 'resources-too-large', subject, values: { resources: names.filter((_, index) => (cls.requests[index] ?? 0) > 0).join(',') }, fell, message: `no single type of ${subject} has enough of everything that the pod asks for` };
}

function accountReason(engine: Engine, state: State, cls: PodClass): Reason | undefined {
  if (!Accounts.applies(state.template)) return undefined;
  const subject = state.template.key;
  const used = new Float64Array(cls.requests.length);
  addTo(used, cls.requests, 1);
  const load = { used, ports: cls.pod.hostPorts };
  const chosen = engine.accounts.choose(state, load, undefined);
  const left = Object.fromEntries(Object.keys(state.template.remaining).sort().map((name) => [name, String(engine.accounts.left(state.template, name))]));
  if (chosen === 'pool-limit') return { code: 'pool-limit', subject, values: left, message: `the limits of ${subject} leave ${Object.entries(left).map(([name, amount]) => `${amount} ${name}`).join(', ')}, less than the smallest node for this pod`, remedy: `raise the limits of ${subject}` };
  if (chosen === 'reserved-capacity') return { code: 'reserved-capacity', subject, values: {}, message: 'the pod could use a capacity reservation, and this plan has given out the last of it; it waits for the next round' };
  if (!engine.accounts.keepsMinValues(state, load) && engine.world.options.minValuesPolicy === 'Strict') {
    const wanted = state.template.minValues.map(({ key, count }) => `${key} ${count}`).join(', ');
    return { code: 'min-values', subject, values: { minValues: wanted }, message: `too few values stay possible for minValues of ${subject} (${wanted})`, remedy: 'lower minValues, or use the policy BestEffort' };
  }
  return undefined;
}

/** The first constraint of a template that no candidate passes for this class, at its most relaxed. */
export function templateReason(engine: Engine, template: Template, cls: PodClass): Reason {
  const level = cls.levels.at(-1);
  const shape = level?.shapes[0] as Shape;
  const subject = template.key;
  const taint = taintAgainst(shape, template.pool.taints);
  if (taint !== undefined) return { code: 'taint-not-tolerated', subject, values: { taint: describeTaint(taint) }, message: `the pod does not tolerate ${describeTaint(taint)} of ${subject}`, remedy: `add a toleration for ${describeTaint(taint)}` };
  if (template.offers.length === 0) return noOfferReason(engine, template);
  const [mismatch] = compatible(template.requirements, shape.requirements, { allowUndefined: engine.world.wellKnown });
  if (mismatch !== undefined) return mismatchReason(subject, mismatch);
  const { states } = engine.world;
  const state = states.after(states.root(template), shape);
  if (state === undefined) return typeReason(engine, template, shape);
  if (!state.widest.some((room) => room.every((amount, index) => amount >= (cls.requests[index] ?? 0)))) return sizeReason(engine, state, cls);
  const port = cls.pod.hostPorts[0];
  if (port !== undefined && !state.offers.some(({ type }) => !anyClash(type.hostPorts, cls.pod.hostPorts))) {
    return { code: 'host-port', subject, values: { port: String(port.port) }, message: `host port ${port.port} is taken by a daemonset on every type of ${subject}` };
  }
  return accountReason(engine, state, cls) ?? topologyReason(engine, subject, cls) ?? lateReason(engine, subject);
}

/** One reason per pool. */
export function poolReasons(engine: Engine, cls: PodClass): readonly Reason[] {
  const { snapshot, templates } = engine.world;
  if (snapshot.pools.length === 0) return [{ code: 'no-pools', values: {}, message: 'there is no NodePool or Provisioner; create one' }];
  const closed = snapshot.pools.filter(({ pool }) => !isOpen(pool)).flatMap(({ pool }) => closedReason(pool) ?? []);
  return [...templates.map((template) => templateReason(engine, template, cls)), ...closed];
}

