import { describe, expect, test } from 'vitest';

import { isQualifiedName } from './label-rules.js';
import { annotations, labels, tags, taints, terminationFinalizer } from './names.js';

const names = [
  ...Object.values(labels),
  ...Object.values(annotations),
  ...Object.values(taints).map(({ key }) => key),
  terminationFinalizer,
];

test.each(names)('%s is a name that the API server takes', (name) =>
  expect(isQualifiedName(name)).toBe(true),
);

describe('no name means two things', () => {
  test.each([
    ['labels', Object.values(labels)],
    ['annotations', Object.values(annotations)],
  ])('among the %s', (_name, values) => expect(new Set(values).size).toBe(values.length));
});

test("a cluster's tag ends in its name", () =>
  expect(tags.cluster('lab')).toBe('kubernetes.io/cluster/lab'));
