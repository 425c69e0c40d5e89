import { expect, test } from 'vitest';

import { forTests, isAlive, obtainHelm, obtainKubectl, obtainMoto, startMoto } from '../index.js';
import { leftOut, scratchDir } from '../testing/scratch.js';

const dir = scratchDir();

test('kubectl and helm run and say their versions', async () => {
  for (const [name, program] of [
    ['kubectl', await obtainKubectl()],
    ['helm', await obtainHelm()],
  ] as const) {
    if (!leftOut(name, program)) expect(program.version).toMatch(/^\d+\.\d+\.\d+$/);
  }
});

test('moto answers an EC2 call', async () => {
  const program = await forTests(obtainMoto);
  if (leftOut('moto', program)) return;
  const moto = await startMoto({ path: program.path, dir });
  try {
    // moto tells the service from the credential's scope and checks no signature.
    const scope = 'test/20260101/us-east-1/ec2/aws4_request';
    const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=none`;
    const body = new URLSearchParams({ Action: 'DescribeRegions', Version: '2016-11-15' });
    const answer = await fetch(moto.url, { method: 'POST', headers: { authorization }, body });
    expect(await answer.text()).toContain('us-east-1');
  } finally {
    await moto.stop();
  }
  expect(isAlive(moto.pid)).toBe(false);
});
