import { expect, test } from 'vitest';

import { parseAdmission, parseAdmissionMark } from './admission-mark.js';

test.each([undefined, '', '1', '1.', 'a.1', '-1.2', `${'9'.repeat(400)}.1`, '1.9007199254740993'])(
  '%j is no admission, and a claim that says so has none',
  (text) => {
    expect(parseAdmission(text)).toBeUndefined();
    expect(parseAdmissionMark(`${text ?? ''}/plan/bin-0`)).toBeUndefined();
  },
);
