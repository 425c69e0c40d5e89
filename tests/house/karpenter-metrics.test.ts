import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

import { metricsOfKarpenter } from '@dovetail/tools/karpenter-source';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const modules = process.env['GOMODCACHE'] ?? join(homedir(), 'go', 'pkg', 'mod');
/** The sources of which the list was made, unpacked as `go mod download` leaves them. */
const sources = [
  'sigs.k8s.io/karpenter@v1.15.0',
  'github.com/aws/karpenter-provider-aws@v1.15.0',
].map((name) => join(modules, name));
const areThere = sources.every((folder) => existsSync(folder));
if (!areThere)
  process.stdout.write(
    "LEFT OUT: Karpenter's own metrics: its sources are not in Go's module cache (go mod download)\n",
  );

/** The metrics of a package with this text. */
function metricsIn(text: string): ReturnType<typeof metricsOfKarpenter> {
  const folder = mkdtempSync(join(tmpdir(), 'dovetail-go-'));
  try {
    mkdirSync(join(folder, 'pkg', 'one'), { recursive: true });
    writeFileSync(join(folder, 'pkg', 'one', 'metrics.go'), text);
    return metricsOfKarpenter([folder]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const registered = (labels: string) => `
const prefix = "karpenter"
const base = prefix
var Pool = opmetrics.Label{
	Name: "nodepool", // of the node
}
var Ended = opmetrics.NewPrometheusHistogram(
	crmetrics.Registry,
	prometheus.HistogramOpts{
		Namespace: base,
		Name:      "ended_seconds",
		Help:      "Time, with (brackets), {braces} and a semicolon",
		Buckets:   []float64{1, 2},
	},
	${labels},
	opmetrics.GA,
)
`;

describe('metrics of sources in Go', () => {
  test('a name is joined from constants, and labels come in order', () =>
    expect(
      metricsIn(
        registered('[]opmetrics.Label{Pool, opmetricsAge}') +
          'var opmetricsAge = opmetrics.Label{Name: "age"}',
      ),
    ).toEqual([
      { name: 'karpenter_ended_seconds', kind: 'histogram', labels: ['age', 'nodepool'] },
    ]));

  test('labels that a function lists are read there', () =>
    expect(
      metricsIn(
        registered('all()') +
          'func all() []opmetrics.Label {\n\treturn []opmetrics.Label{\n\t\tPool,\n\t}\n}\n',
      ),
    ).toEqual([{ name: 'karpenter_ended_seconds', kind: 'histogram', labels: ['nodepool'] }]));

  test('a label that nothing declares is an error that names it', () =>
    expect(() => metricsIn(registered('[]opmetrics.Label{Unknown}'))).toThrow('Unknown'));
});

test.skipIf(!areThere)("the list of Karpenter's metrics is as its sources have it", () => {
  const list = readFileSync(join(root, 'tools/reference/karpenter-1.15-metrics.json'), 'utf8');
  expect(metricsOfKarpenter(sources)).toEqual(JSON.parse(list));
});
