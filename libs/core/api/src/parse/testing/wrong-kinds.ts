import type { Parsed } from '@dovetail/core-kube-model';

type Manifest = Readonly<Record<string, unknown>>;

/** A manifest in which one field was changed, and the path of that field as readers name it. */
type Changed = { readonly path: string; readonly manifest: Manifest };

type Change = (value: unknown) => unknown;
const removed = Symbol('removed');

function withKey(object: Manifest, key: string, value: unknown): Manifest {
  const { [key]: _, ...rest } = object;
  return value === removed ? rest : { ...object, [key]: value };
}

function* changesOf(value: unknown, path: string, change: Change): Generator<[string, unknown]> {
  yield [path, change(value)];
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const [where, changed] of changesOf(item, `${path}[${index}]`, change))
        if (changed !== removed) yield [where, value.with(index, changed)];
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value))
      for (const [where, changed] of changesOf(item, `${path}.${key}`, change))
        yield [where, withKey(value as Manifest, key, changed)];
  }
}

const eachChanged = (manifest: Manifest, change: Change): readonly Changed[] =>
  Object.keys(manifest).flatMap((part) =>
    [...changesOf(manifest[part], part, change)].map(([path, changed]) => ({
      path,
      manifest: withKey(manifest, part, changed),
    })),
  );

/** A value that a field of this value's kind can never have. */
const anotherKind = (value: unknown): unknown =>
  typeof value === 'string' ? { a: 'map' } : 'a text';

/** The manifest once for each of its fields, with a value of another kind in that field. */
const wrongKinds = (manifest: Manifest): readonly Changed[] => eachChanged(manifest, anotherKind);

/** The manifest once for each of its fields, with `null` there, and without the field. */
const absences = (
  manifest: Manifest,
): readonly { readonly path: string; readonly asNull: Manifest; readonly absent: Manifest }[] => {
  const absent = new Map(
    eachChanged(manifest, () => removed).map((one) => [one.path, one.manifest]),
  );
  return eachChanged(manifest, () => null).flatMap(({ path, manifest: asNull }) => {
    const without = absent.get(path);
    return without === undefined ? [] : [{ path, asNull, absent: without }];
  });
};

/** Entries of maps whose keys are the user's own: there, `null` is the empty text. */
const mapEntry =
  /\.(labels|annotations|tags|limits|resources|requests|\w+Reserved|eviction\w+|capacity|allocatable|\w+Selector)\.[^.]/;

/**
 * The fields that a reader takes for something else when they are `null` than when they are absent.
 */
export const mistakenNulls = (
  manifest: Manifest,
  read: (raw: unknown) => Parsed<unknown>,
): readonly string[] => {
  const outcome = (raw: unknown): string => {
    const made = read(raw);
    return JSON.stringify(made.ok ? made : [made.field, made.remedy]);
  };
  return absences(manifest)
    .filter(({ path }) => !mapEntry.test(path))
    .filter(({ asNull, absent }) => outcome(asNull) !== outcome(absent))
    .map(({ path }) => path);
};

/**
 * The fields that a reader does not refuse by their path, value and remedy when they are of another
 * kind.
 */
export const mistakenKinds = (
  manifest: Manifest,
  read: (raw: unknown) => Parsed<unknown>,
): readonly string[] =>
  wrongKinds(manifest)
    .filter(({ path, manifest: changed }) => {
      const made = read(changed);
      const refused =
        !made.ok &&
        made.field === path &&
        ['"a text"', '{"a":"map"}'].includes(made.value) &&
        made.remedy.length > 10;
      return !refused;
    })
    .map(({ path }) => path);
