import { expect, test } from 'vitest';

import { hostNames, isOwnHost } from './host-names.js';

test.each([
  ['evil.example', false],
  ['localhost.evil.example', false],
  ['127.0.0.1.evil.example', false],
  ['evil.example:8090', false],
  ['console.example.com.evil.example', false],
  ['', false],
  [undefined, false],
  ['localhost', true],
  ['LOCALHOST:8090', true],
  ['localhost.', true],
  ['127.0.0.1:8090', true],
  ['10.0.0.7', true],
  ['[::1]:8090', true],
  ['Console.Example.com', true],
  ['console.example.com:443', true],
])('the host %j is one of ours: %j', (header, own) =>
  expect(isOwnHost(header, ['console.example.com'])).toBe(own),
);

test('names are taken as they are', () =>
  expect(hostNames('console.example.com,console')).toBe('console.example.com,console'));
test.each(['https://console.example.com', 'console:8090', 'a, b', '*.example.com', 'a,'])(
  '%j is refused',
  (given) => expect(() => hostNames(given)).toThrow('is no name of a host'),
);
