import { describe, expect, test } from 'vitest';

import { annotations } from '../names.js';
import { readPoolAnnotations, readTemplateAnnotations } from './pool-annotations.js';

test.each(['', '0.1234567', '-1', '1e3', '$1', '1.', '1234567'])(
  'the price cap %j is refused by field',
  (text) =>
    expect(() => readPoolAnnotations({ [annotations.maxPricePerHour]: text })).toThrow(
      `metadata.annotations.${annotations.maxPricePerHour}: `,
    ),
);

test.each(['', '0', '-1', '1.5', 'many', '1000000'])(
  'the launch rate %j is refused by field',
  (text) =>
    expect(() => readPoolAnnotations({ [annotations.maxLaunchesPerMinute]: text })).toThrow(
      `metadata.annotations.${annotations.maxLaunchesPerMinute}: `,
    ),
);

describe('the settings of a pool', () => {
  test('are none where it has none', () => expect(readPoolAnnotations({})).toEqual({}));

  test.each([
    ['0', 0],
    ['1.50', 1_500_000],
    ['0.000001', 1],
    ['999999', 999_999_000_000],
  ])('cap the price at %s dollars as %d micro-dollars', (text, micros) =>
    expect(readPoolAnnotations({ [annotations.maxPricePerHour]: text })).toEqual({
      maxPriceMicrosPerHour: micros,
    }),
  );

  test('cap the launches of a minute', () =>
    expect(readPoolAnnotations({ [annotations.maxLaunchesPerMinute]: '10' })).toEqual({
      maxLaunchesPerMinute: 10,
    }));
});

describe('the annotations of a template', () => {
  const field = 'spec.template.metadata.annotations';

  test('are those of the nodes', () =>
    expect(
      readTemplateAnnotations({ team: 'a', 'lab.dovetail.sh/x': '1', gone: null }, field),
    ).toEqual({ team: 'a', 'lab.dovetail.sh/x': '1' }));

  test.each([annotations.maxPricePerHour, 'dovetail.sh/left-alone', 'dovetail.sh/anything'])(
    'are refused by field if %s is among them',
    (name) =>
      expect(() => readTemplateAnnotations({ [name]: '1' }, field)).toThrow(`${field}.${name}: `),
  );
});
