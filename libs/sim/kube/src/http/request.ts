/** Where a request goes, read from its path. */
export type Target =
  | {
      readonly kind: 'resource';
      readonly group: string;
      readonly version: string;
      readonly plural: string;
      readonly namespace?: string;
      readonly name?: string;
      readonly subresource?: string;
    }
  | { readonly kind: 'versions' }
  | { readonly kind: 'groups' }
  | { readonly kind: 'group'; readonly group: string }
  | { readonly kind: 'resources'; readonly group: string; readonly version: string }
  | { readonly kind: 'openapi'; readonly path: string | undefined }
  | { readonly kind: 'openapi-v2' }
  | { readonly kind: 'version' }
  | { readonly kind: 'health' }
  | { readonly kind: 'clock' }
  | { readonly kind: 'unknown' };

type Base = { readonly group: string; readonly version: string };

function resourceTarget(base: Base, segments: readonly string[]): Target {
  const [first, ...rest] = segments;
  if (first === undefined) return { kind: 'resources', ...base };
  // `namespaces` is both a resource and a scope; `namespaces/<name>/<status|finalize>` is the
  // resource.
  const isScope =
    first === 'namespaces' &&
    rest.length >= 2 &&
    !['status', 'finalize'].includes(rest[1] as string);
  const [plural, name, subresource, ...beyond] = isScope ? rest.slice(1) : segments;
  if (plural === undefined || beyond.length > 0) return { kind: 'unknown' };
  return {
    kind: 'resource',
    ...base,
    plural,
    ...(isScope ? { namespace: rest[0] as string } : {}),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource }),
  };
}

/** Reads a path of the API server. */
export function targetOf(path: string): Target {
  const segments = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decodeURIComponent);
  const [root, ...rest] = segments;
  switch (root ?? '') {
    case 'api':
      return rest.length === 0
        ? { kind: 'versions' }
        : resourceTarget({ group: '', version: rest[0] as string }, rest.slice(1));
    case 'apis': {
      const [group, version, ...below] = rest;
      if (group === undefined) return { kind: 'groups' };
      return version === undefined
        ? { kind: 'group', group }
        : resourceTarget({ group, version }, below);
    }
    case 'openapi':
      if (rest[0] === 'v2' && rest.length === 1) return { kind: 'openapi-v2' };
      return rest[0] === 'v3'
        ? { kind: 'openapi', path: rest.length > 1 ? rest.slice(1).join('/') : undefined }
        : { kind: 'unknown' };
    case 'version':
      return { kind: 'version' };
    case 'healthz':
    case 'readyz':
    case 'livez':
      return { kind: 'health' };
    case 'twin':
      return rest[0] === 'clock' && rest.length === 1 ? { kind: 'clock' } : { kind: 'unknown' };
    default:
      return { kind: 'unknown' };
  }
}
