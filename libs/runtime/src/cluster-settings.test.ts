import { expect, test } from 'vitest';

import { absoluteUrl, caBundle, cidrBlock, shareBelowOne } from './cluster-settings.js';

const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const base64 = Buffer.from(pem).toString('base64');

test.each([
  ['', absoluteUrl],
  ['10.0.0.1', absoluteUrl],
  ['10.0.0.1:443', absoluteUrl],
  ['nats://10.0.0.1', absoluteUrl],
  ['https://', absoluteUrl],
  ['', caBundle],
  ['/etc/ca.crt', caBundle],
  [Buffer.from('no certificate').toString('base64'), caBundle],
  [`${base64} `, caBundle],
  ['', cidrBlock],
  ['172.20.0.0', cidrBlock],
  ['172.20.0.0/33', cidrBlock],
  ['172.20.0.0/', cidrBlock],
  ['172.20.0/16', cidrBlock],
  ['fd00::/129', cidrBlock],
  ['172.20.0.0/16/1', cidrBlock],
  ['', shareBelowOne],
  ['1', shareBelowOne],
  ['7.5', shareBelowOne],
  ['-0.1', shareBelowOne],
  ['7.5%', shareBelowOne],
])('%j is refused with the remedy', (given, read) => expect(() => read(given)).toThrow(/^give /));

test.each([
  ['https://10.0.0.1:443', absoluteUrl, 'https://10.0.0.1:443'],
  ['https://x.gr7.us-west-2.eks.amazonaws.com', absoluteUrl, undefined],
  [base64, caBundle, base64],
  [pem, caBundle, base64],
  ['172.20.0.0/16', cidrBlock, '172.20.0.0/16'],
  ['fd00::/108', cidrBlock, 'fd00::/108'],
  ['0', shareBelowOne, 0],
  ['0.075', shareBelowOne, 0.075],
  ['.05', shareBelowOne, 0.05],
])('%j is accepted', (given, read: (text: string) => string | number, value) =>
  expect(read(given)).toBe(value ?? given),
);
