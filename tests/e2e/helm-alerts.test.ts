import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { helmFor, type Rendered, rendererOf, theOne } from '@dovetail/test-support/chart';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const helm = await helmFor('alerts of the chart');
const render = rendererOf(helm);
const file = join(import.meta.dirname, '../../deploy/prometheus/dovetail.rules.yaml');

test.skipIf(helm === undefined)(
  'the chart has the alerts of deploy/prometheus for the Prometheus operator, off by default',
  async () => {
    expect((await render()).map(({ kind }) => kind)).not.toContain('PrometheusRule');
    const objects = await render(
      'metrics.prometheusRule.enabled=true',
      'metrics.prometheusRule.labels.release=prometheus',
    );
    const rule = theOne<Rendered & { readonly spec: unknown }>(
      objects,
      'PrometheusRule',
      '-alerts',
    );
    expect(rule.metadata.labels).toMatchObject({ release: 'prometheus' });
    expect(rule.spec).toEqual(parse(readFileSync(file, 'utf8')));
  },
);
