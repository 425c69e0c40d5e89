import { compareText } from '@dovetail/core-kube-model';

import type { PodClass } from '../model/classes.js';
import type { Reason, ReasonCode } from '../reasons.js';
import { domainRoom } from '../rooms/domain-room.js';
import type { Engine } from '../rooms/engine.js';
import { type Item, ItemTable } from '../rooms/items.js';
import { openableOf } from '../rooms/pinned-items.js';
import type { Ledger } from '../topology/ledger.js';
import { type Role, rolesOf } from '../topology/roles.js';
import { demandOn, demandPlaced, demandText } from './demand.js';

/** The reason code of a topology rule. */
export const codeOf = (role: Role): ReasonCode =>
  role.group.kind === 'spread'
    ? 'topology-spread'
    : role.group.kind === 'affinity'
      ? 'pod-affinity'
      : 'pod-anti-affinity';

const nameOf = (role: Role): string =>
  role.group.kind === 'spread'
    ? 'spread'
    : role.group.kind === 'affinity'
      ? 'affinity'
      : 'anti-affinity';

/** Names a rule in a sentence, as `spread over topology.kubernetes.io/zone`. */
export const ruleText = (role: Role): string => `${nameOf(role)} over ${role.group.key}`;

function countsOf(ledger: Ledger, role: Role): string {
  return [...ledger.of(role.group).tallies]
    .sort(([a], [b]) => compareText(a, b))
    .map(([domain, tally]) => `${domain}=${tally.selected}`)
    .join(',');
}

const openFor = (
  ledger: Ledger,
  items: readonly Item[],
  matters: (role: Role) => boolean,
): boolean =>
  items.some((item) =>
    item.pins.every(({ role, domain }) => !matters(role) || ledger.roomInDomain(role, domain) > 0),
  );

/** Returns the smallest change that would let a pod pass a rule. */
function remedyOf(role: Role): string {
  switch (role.group.kind) {
    case 'spread':
      return `raise maxSkew above ${role.group.maxSkew}, ${role.group.minDomains > 1 ? `lower minDomains below ${role.group.minDomains}, ` : ''}use ScheduleAnyway, or let pools offer more values of ${role.group.key}`;
    case 'anti':
      return role.carries
        ? `let pools offer more values of ${role.group.key}, or prefer the anti-affinity instead of requiring it`
        : `change the pod's labels, or the other pods' anti-affinity`;
    case 'affinity':
      return 'create a pod that the term selects, or prefer the affinity instead of requiring it';
  }
}

function hostReason(engine: Engine, subject: string, role: Role): Reason {
  const { key } = role.group;
  return {
    code: codeOf(role),
    subject,
    values: { key },
    remedy: remedyOf(role),
    message: `${ruleText(role)} rules out an empty node of ${subject}${role.group.kind === 'affinity' ? ', and no node with room has a pod that it selects' : ''}`,
  };
}

/** Explains why a rule counts no pod in any domain. */
function nobody(ledger: Ledger, { group }: Role): string {
  if (group.kind !== 'affinity') return `no node that it may use has ${group.key}`;
  return ledger.of(group).undecided > 0
    ? `the pods that it selects are on claims whose ${group.key} is not decided yet`
    : 'the cluster has no pod that it selects';
}

/**
 * Returns the reason why no domain or no host is open to the class. It is the first rule that
 * closes all of them, or several rules together. Undefined if some domain is open.
 */
export function topologyReason(engine: Engine, subject: string, cls: PodClass): Reason | undefined {
  const last = cls.levels.length - 1;
  const level = cls.levels[last];
  if (level === undefined) return undefined;
  const roles = rolesOf(cls, level);
  const closed = roles.onHost.find((role) => engine.ledger.roomOnHost(role, undefined) <= 0);
  if (closed !== undefined) return hostReason(engine, subject, closed);
  const items = openableOf(engine, new ItemTable(), { cls, level: last, roles });
  if (items.some((item) => domainRoom(engine, item.pins) > 0)) return undefined;
  const culprit = roles.onDomain.find(
    (role) => !openFor(engine.ledger, items, (one) => one === role),
  );
  // A domain was open before this plan placed pods, so other pods of the plan have taken it.
  if (openFor(engine.world.standings.ledger, items, () => true))
    return displaced(engine, subject, culprit ?? roles.onDomain[0]);
  const blamed = culprit === undefined ? roles.onDomain : [culprit];
  const [first] = blamed;
  if (first === undefined) return undefined;
  const details = blamed
    .map(
      (role) =>
        `${ruleText(role)} (${countsOf(engine.ledger, role) || nobody(engine.ledger, role)})`,
    )
    .join(' and ');
  return {
    code: codeOf(first),
    subject,
    values: {
      key: first.group.key,
      counts: countsOf(engine.ledger, first),
      ...(first.group.kind === 'spread' ? { maxSkew: String(first.group.maxSkew) } : {}),
    },
    message: `${details} ${blamed.length > 1 ? 'together leave' : 'leaves'} no domain open`,
    remedy: remedyOf(first),
  };
}

/** Returns the reason if other pods of the plan took the last place in an open domain. */
function displaced(engine: Engine, subject: string, role: Role | undefined): Reason | undefined {
  if (role === undefined) return undefined;
  const { group } = role;
  const concerned = (cls: PodClass): boolean =>
    cls.selectedBy.includes(group) || cls.levels.some((level) => level.carries.includes(group));
  const by = demandText(
    new Map([...demandOn([...engine.existing, ...engine.fresh])].filter(([cls]) => concerned(cls))),
  );
  return {
    code: 'displaced',
    subject,
    values: { rule: codeOf(role), key: group.key, by, counts: countsOf(engine.ledger, role) },
    remedy: remedyOf(role),
    message: `${ruleText(role)} left a domain open before this plan; other pods of the plan took the last place: ${by}`,
  };
}

/**
 * Returns the reason for a pod that nothing excludes: the search ended early, or pods placed before
 * took every place.
 */
export function lateReason(engine: Engine, subject: string): Reason {
  if (engine.world.options.shouldStop?.(0) === true)
    return {
      code: 'budget-ended',
      subject,
      values: {},
      message: 'the search ended before this pod was placed; the next round plans it again',
    };
  const by = demandPlaced(engine);
  return {
    code: 'displaced',
    subject,
    values: { by },
    message: `other pods of this plan took every place that this pod could use: ${by}; the next round plans it again`,
  };
}
