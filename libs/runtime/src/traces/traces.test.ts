import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { Log, Span } from '@dovetail/core-ports';
import { afterEach, describe, expect, test } from 'vitest';

import { systemHash } from '../clock.js';
import { openTraces } from './otel.js';
import { serviceTraces, type TraceSource, traceUrlOf } from './traces.js';

const by = { service: 'launcher', instance: 'launcher-0', cluster: 'lab' };
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';

function recordingLog(): { readonly log: Log; readonly names: string[]; readonly texts: string[] } {
  const [names, texts]: [string[], string[]] = [[], []];
  const at: Log['info'] = (name, message) => {
    names.push(name);
    texts.push(message);
  };
  return { log: { debug: at, info: at, warn: at, error: at }, names, texts };
}

describe('traces are sent', () => {
  const endpoint = { otlpEndpoint: 'http://collector:4318', otlpTracesEndpoint: '' };
  test.each<[string, object, NodeJS.ProcessEnv, string | undefined]>([
    ['nowhere without an address', {}, {}, undefined],
    ['nowhere with empty ones', { otlpEndpoint: '', otlpTracesEndpoint: '' }, {}, undefined],
    ['to the path of the standard', endpoint, {}, 'http://collector:4318/v1/traces'],
    [
      'to that path below another one',
      { otlpEndpoint: 'https://vendor/otlp/' },
      {},
      'https://vendor/otlp/v1/traces',
    ],
    [
      'to the address for traces as it is',
      { ...endpoint, otlpTracesEndpoint: 'http://tempo/in' },
      {},
      'http://tempo/in',
    ],
    ['nowhere once the SDK is disabled', endpoint, { OTEL_SDK_DISABLED: 'TRUE' }, undefined],
    ['nowhere without an exporter', endpoint, { OTEL_TRACES_EXPORTER: 'none' }, undefined],
    [
      'if OTLP is one of the exporters',
      endpoint,
      { OTEL_TRACES_EXPORTER: 'console, otlp' },
      'http://collector:4318/v1/traces',
    ],
  ])('%s', (_what, settings, env, url) => expect(traceUrlOf(settings, env)).toBe(url));
});

describe('a service', () => {
  const on = { otlpEndpoint: 'http://127.0.0.1:9' };

  test('that is told of no receiver does not load the SDK', async () => {
    const { log, names } = recordingLog();
    const load = () => Promise.reject(new Error('it is loaded'));
    expect(await serviceTraces({}, by, { log, env: {}, load })).toBeUndefined();
    expect(names).toEqual([]);
  });

  test('works without traces if the SDK cannot be loaded', async () => {
    const { log, names, texts } = recordingLog();
    const load = () => Promise.reject(new Error('no such file'));
    expect(await serviceTraces(on, by, { log, env: {}, load })).toBeUndefined();
    expect([names, texts[0]]).toEqual([['traces-off'], expect.stringContaining('no such file')]);
  });

  test('says that it speaks another protocol than it is told to', async () => {
    const { log, texts } = recordingLog();
    const load = () => Promise.reject(new Error('left out'));
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
    await serviceTraces(on, by, { log, env, load });
    expect(texts[0]).toMatch(/OTEL_EXPORTER_OTLP_PROTOCOL is grpc, .*usually 4318/);
  });

  test('that ends waits two seconds for its receiver, and tells a failure once', async () => {
    const { log, names } = recordingLog();
    const load = () =>
      Promise.resolve({
        openTraces: ({ onFailure }: TraceSource) => {
          onFailure('refused');
          onFailure('refused');
          const traces = { keeps: () => true, record: () => undefined };
          return { traces, flush: () => new Promise<void>(() => undefined) };
        },
      });
    const opened = await serviceTraces(on, by, { log, env: {}, load });
    const before = performance.now();
    expect(await opened?.close()).toBe(false);
    expect(performance.now() - before).toBeGreaterThan(1_900);
    expect(names).toEqual(['traces-not-sent', 'traces-on']);
  });
});

describe("OpenTelemetry's SDK", () => {
  const source = { ...by, version: '0.1.0', onFailure: () => undefined };
  const span: Span = {
    traceId,
    spanId: '00f067aa0ba902b7',
    name: 'launch',
    startMs: 5,
    endMs: 9,
    attributes: {},
  };
  afterEach(() => {
    delete process.env['OTEL_TRACES_SAMPLER'];
    delete process.env['OTEL_TRACES_SAMPLER_ARG'];
    delete process.env['OTEL_EXPORTER_OTLP_TIMEOUT'];
  });

  test.each<[string, string, boolean]>([
    ['always_on', '', true],
    ['always_off', '', false],
    ['parentbased_always_on', '', true],
    ['parentbased_always_off', '', false],
    ['traceidratio', '0', false],
    ['traceidratio', '1', true],
    ['parentbased_traceidratio', '0', false],
    ['parentbased_traceidratio', '1', true],
  ])('keeps a trace as the sampler %s %s says: %s', (sampler, arg, kept) => {
    process.env['OTEL_TRACES_SAMPLER'] = sampler;
    if (arg !== '') process.env['OTEL_TRACES_SAMPLER_ARG'] = arg;
    const { traces } = openTraces({ ...source, url: 'http://127.0.0.1:9' });
    expect(traces.keeps(traceId)).toBe(kept);
  });

  test('keeps about the share of traces that it is told to, and all services the same ones', () => {
    process.env['OTEL_TRACES_SAMPLER'] = 'parentbased_traceidratio';
    process.env['OTEL_TRACES_SAMPLER_ARG'] = '0.25';
    const url = 'http://127.0.0.1:9';
    const [one, other] = [openTraces({ ...source, url }), openTraces({ ...source, url })];
    const ids = Array.from({ length: 1_000 }, (_, index) =>
      systemHash.sha256Hex(String(index)).slice(0, 32),
    );
    const kept = ids.filter((id) => one.traces.keeps(id));
    expect(kept.length).toBeGreaterThan(150);
    expect(kept.length).toBeLessThan(350);
    expect(ids.filter((id) => other.traces.keeps(id))).toEqual(kept);
  });

  test('sends what it has to a receiver, and tells in words that there is none', async () => {
    process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '500';
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url ?? '');
      request.resume().on('end', () => response.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${String(port)}/v1/traces`;
    const there = openTraces({ ...source, url });
    there.traces.record(span);
    await there.flush();
    expect(paths).toEqual(['/v1/traces']);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
    const away = openTraces({ ...source, url });
    away.traces.record(span);
    await expect(away.flush()).rejects.toThrow();
  });

  test('takes ten thousand spans at once without waiting, though no receiver takes any', () => {
    const { traces } = openTraces({ ...source, url: 'http://127.0.0.1:9' });
    for (let index = 0; index < 10_000; index += 1)
      traces.record({ ...span, spanId: (index + 1).toString(16).padStart(16, '0') });
    expect(traces.keeps(traceId)).toBe(true);
  });
});
