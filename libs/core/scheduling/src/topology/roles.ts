import type { Level, PodClass } from '../model/classes.js';
import type { Group } from '../model/groups.js';

/**
 * How a class takes part in a group at one level: it follows the group's rule, is counted by it, or
 * both.
 */
export type Role = { readonly group: Group; readonly carries: boolean; readonly selected: boolean };

/**
 * Roles of a class, hostname groups apart from the others: those are settled bin by bin, these
 * domain by domain.
 */
export type Roles = {
  readonly onHost: readonly Role[];
  readonly onDomain: readonly Role[];
  readonly domainKeys: readonly string[];
  readonly needsHostMates: boolean;
};

// Classes that differ in their requests only share their levels, and are selected by the same
// groups.
const known = new WeakMap<Level, Roles>();

export function rolesOf(cls: PodClass, level: Level): Roles {
  let roles = known.get(level);
  if (roles === undefined) known.set(level, (roles = computed(cls, level)));
  return roles;
}

function computed(cls: PodClass, level: Level): Roles {
  const groups = [...new Set([...level.carries, ...cls.selectedBy])].sort((a, b) => a.id - b.id);
  const roles = groups.map((group) => ({
    group,
    carries: level.carries.includes(group),
    selected: cls.selectedBy.includes(group),
  }));
  const onDomain = roles.filter((role) => !role.group.onHost);
  return {
    onHost: roles.filter((role) => role.group.onHost),
    onDomain,
    domainKeys: [...new Set(onDomain.map((role) => role.group.key))].sort(),
    needsHostMates: roles.some(
      (role) => role.group.onHost && role.carries && role.group.kind === 'affinity',
    ),
  };
}
