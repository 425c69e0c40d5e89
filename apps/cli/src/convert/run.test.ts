import { expect, test } from 'vitest';

import { runConvert } from './run.js';
import { fileOf } from './testing/converting.js';

test.each([
  ['a template', 'settings: { clusterName: {{ .Values.name }} }\n', /given\.yaml:1: a map or list/],
  ['an alias of nothing', 'settings:\n  clusterName: *name\n', /given\.yaml:2: the alias \*name/],
  ['a broken line', 'settings:\n  - a\n b: c\n', /given\.yaml:3: this is not valid YAML/],
  ['a list', '[1]\n', /given\.yaml: this is no file of values/],
])('%s is no file of values, and its place is told', async (_what, text, message) => {
  let [out, err] = ['', ''];
  const code = await runConvert(
    { file: fileOf(text) },
    { out: (more) => (out += more), err: (more) => (err += more) },
  );
  expect([code, out]).toEqual([64, '']);
  expect(err).toMatch(message);
});
