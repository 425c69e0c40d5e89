import type { Level, PodClass } from '../model/classes.js';
import type { Group } from '../model/groups.js';

/**
 * The part that a class has in a group at one level: it carries the group's rule, is selected by
 * it, or both.
 */
export type Role = { readonly group: Group; readonly carries: boolean; readonly selected: boolean };

/** Roles of a class. Hostname roles are decided per node, the other roles per topology domain. */
export type Roles = {
  readonly onHost: readonly Role[];
  readonly onDomain: readonly Role[];
  readonly domainKeys: readonly string[];
  readonly needsHostMates: boolean;
};

// Classes that differ only in their requests share their levels and are selected by the same
// groups.
const known = new WeakMap<Level, Roles>();

/**
 * The groups of topology rules that a pod of this class has a part in, at this level of its
 * preferences.
 */
export function rolesOf(cls: PodClass, level: Level): Roles {
  let roles = known.get(level);
  if (roles === undefined) known.set(level, (roles = computed(cls, level)));
  return roles;
}

function computed(cls: PodClass, level: Level): Roles {
  const carries = new Set(level.carries);
  const selectedBy = new Set(cls.selectedBy);
  const groups = [...new Set([...carries, ...selectedBy])].sort((a, b) => a.id - b.id);
  const roles = groups.map((group) => ({
    group,
    carries: carries.has(group),
    selected: selectedBy.has(group),
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
