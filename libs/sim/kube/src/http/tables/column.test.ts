import { describe, expect, test } from 'vitest';

import { ageText, durationText } from './column.js';
import { valuesAtPath } from './json-path.js';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe('a duration as kubectl prints ages', () => {
  test.each([
    [0, '0s'],
    [119 * second, '119s'],
    [2 * minute + 5 * second, '2m5s'],
    [3 * minute, '3m'],
    [10 * minute + 59 * second, '10m'],
    [3 * hour + 20 * minute, '3h20m'],
    [47 * hour, '47h'],
    [3 * day + 4 * hour, '3d4h'],
    [400 * day, '400d'],
    [3 * 365 * day + day, '3y1d'],
    [9 * 365 * day, '9y'],
    [-500, '0s'],
    [-5 * second, '<invalid>'],
  ])('%d ms is %s', (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  test('without a time the age is unknown', () => {
    expect(ageText(undefined, 0)).toBe('<unknown>');
    expect(ageText('1970-01-01T00:00:00Z', 5 * second)).toBe('5s');
  });
});

describe('a JSONPath of a printer column', () => {
  const node = {
    metadata: { labels: { 'a.b/c': 'x' } },
    status: {
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Lost', status: 'False' },
      ],
    },
  };

  test.each([
    ['.status.conditions[0].type', ['Ready']],
    ['.status.conditions[-1].type', ['Lost']],
    ['.status.conditions[*].type', ['Ready', 'Lost']],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".metadata.labels['a.b/c']", ['x']],
    ['.metadata.labels.a\\.b/c', ['x']],
    ['{.metadata.labels.*}', ['x']],
    ['.status.missing.field', []],
  ])('%s finds %j', (path, values) => {
    expect(valuesAtPath(node, path)).toEqual(values);
  });
});
