import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { helmFor, type Rendered, rendererOf, theOne } from '@dovetail/test-support/chart';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const helm = await helmFor('alerts of the chart');
const render = rendererOf(helm);
const deploy = join(import.meta.dirname, '../../deploy');
const file = join(deploy, 'prometheus/dovetail.rules.yaml');
const boards = join(deploy, 'grafana');

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

type ConfigMap = Rendered & { readonly data?: Readonly<Record<string, string>> };

test.skipIf(helm === undefined)(
  'the chart has the dashboards of deploy/grafana for the sidecar of Grafana, off by default',
  async () => {
    const isBoard = ({ metadata }: Rendered): boolean =>
      metadata.labels?.['grafana_dashboard'] === '1';
    expect((await render()).filter(isBoard)).toEqual([]);
    const objects = await render(
      'metrics.dashboards.enabled=true',
      'metrics.dashboards.namespace=monitoring',
      'metrics.dashboards.annotations.grafana_folder=Dovetail',
    );
    const found: readonly ConfigMap[] = objects.filter(isBoard);
    for (const { kind, metadata } of found) {
      expect([kind, metadata.namespace]).toEqual(['ConfigMap', 'monitoring']);
      expect(metadata.annotations).toEqual({ grafana_folder: 'Dovetail' });
    }
    const texts = Object.fromEntries(found.flatMap(({ data = {} }) => Object.entries(data)));
    const files = readdirSync(boards).map((name) => [
      `dovetail-${name}`,
      readFileSync(join(boards, name), 'utf8').trimEnd(),
    ]);
    expect(texts).toEqual(Object.fromEntries(files));
  },
);
