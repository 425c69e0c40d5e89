import { candidatesOf, domainRoom } from '../build/domains.js';
import type { Engine } from '../build/engine.js';
import { ItemTable, type Item } from '../build/items.js';
import type { PodClass } from '../model/classes.js';
import type { Reason, ReasonCode } from '../plan.js';
import type { Ledger } from '../topology/ledger.js';
import { rolesOf, type Role } from '../topology/roles.js';

const codeOf = (role: Role): ReasonCode =>
  role.group.kind === 'spread' ? 'topology-spread' : role.group.kind === 'affinity' ? 'pod-affinity' : 'pod-anti-affinity';

const nameOf = (role: Role): string => (role.group.kind === 'spread' ? 'spread' : role.group.kind === 'affinity' ? 'affinity' : 'anti-affinity');

function countsOf(ledger: Ledger, role: Role): string {
  return [...ledger.of(role.group).tallies].sort(([a], [b]) => (a < b ? -1 : 1)).map(([domain, tally]) => `${domain}=${tally.selected}`).join(',');
}

const openFor = (ledger: Ledger, items: readonly Item[], matters: (role: Role) => boolean): boolean =>
  items.some((item) => item.pins.every(({ role, domain }) => !matters(role) || ledger.roomInDomain(role, domain) > 0));

/** Why no domain is open to the class, or no host: the first rule that closes them all, else the rules together. */
export function topologyReason(engine: Engine, subject: string, cls: PodClass): Reason | undefined {
  const last = cls.levels.length - 1;
  const level = cls.levels[last];
  if (level === undefined) return undefined;
  const roles = rolesOf(cls, level);
  for (const role of roles.onHost) {
    if (engine.ledger.roomOnHost(role, undefined) > 0) continue;
    return { code: codeOf(role), subject, values: { key: role.group.key }, message: `${nameOf(role)} over ${role.group.key} rules out an empty node, and no node with room has the pods that it wants to be with` };
  }
  const items = candidatesOf(engine, new ItemTable(), { cls, level: last, roles });
  if (items.some((item) => domainRoom(engine, item.pins) > 0)) return undefined;
  const culprit = roles.onDomain.find((role) => !openFor(engine.ledger, items, (one) => one === role));
  // Before this plan placed anything there was a domain: the pod lost it to others of the same plan.
  const before = engine.world.standings.ledger;
  if (openFor(before, items, () => true)) return displaced(engine, subject, culprit ?? roles.onDomain[0]);
  const blamed = culprit === undefined ? roles.onDomain : [culprit];
  const [first] = blamed;
  if (first === undefined) return undefined;
  const details = blamed.map((role) => `${nameOf(role)} over ${role.group.key} (${countsOf(engine.ledger, role) || 'no domain holds any'})`).join(' and ');
  return { code: codeOf(first), subject, values: { key: first.group.key, counts: countsOf(engine.ledger, first), maxSkew: String(first.group.maxSkew) }, message: `${details} ${blamed.length > 1 ? 'together leave' : 'leaves'} no domain open` };
}

function displaced(engine: Engine, subject: string, role: Role | undefined): Reason | undefined {
  if (role === undefined) return undefined;
  const others = engine.world.classes.filter((cls) => cls.selectedBy.includes(role.group) || cls.levels.some((level) => level.carries.includes(role.group)));
  const demand = others.slice(0, 5).map((cls) => `${cls.pod.namespace}/${cls.pod.name}${cls.uids.length > 1 ? ` (${cls.uids.length} pods)` : ''}`).join(', ');
  return {
    code: 'displaced', subject, values: { rule: codeOf(role), key: role.group.key, by: demand, counts: countsOf(engine.ledger, role) },
    message: `${nameOf(role)} over ${role.group.key} left a domain open before this plan; pods placed in it took the last place: ${demand}`,
  };
}

/** When nothing is wrong with the pod by itself: the search was ended early, or other pods were placed in its way. */
export function lateReason(engine: Engine, subject: string): Reason {
  if (engine.world.options.shouldStop?.() === true) return { code: 'budget-ended', subject, values: {}, message: 'the search was ended before this pod was placed; it is planned again in the next round' };
  return { code: 'displaced', subject, values: {}, message: 'pods that were placed first took the places where this one could have gone' };
}
