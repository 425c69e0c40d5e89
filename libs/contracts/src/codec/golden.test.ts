import { expect, test } from 'vitest';

import { goldenFiles, goldenReaders, meaning } from '../testing/golden.js';
import { sampleRecords } from '../testing/samples.js';

const files = goldenFiles();

test.each(files.map((file) => [`${file.release}/${file.name}`, file] as const))(
  "today's code reads %s as it was meant",
  (_name, file) => {
    const decoded = goldenReaders[file.name.slice(0, file.name.indexOf('-'))]?.(file.bytes);
    expect(decoded).toMatchObject({ ok: true });
    expect(decoded?.ok === true ? JSON.parse(meaning(decoded.value)) : undefined).toEqual(
      JSON.parse(file.meaning),
    );
  },
);

test('every kind of state has golden bytes', () => {
  for (const record of sampleRecords)
    expect(files.map((file) => file.name)).toContain(
      `state-${record.kind === 'gone' ? 'gone' : record.state.kind}`,
    );
});
