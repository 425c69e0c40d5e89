// Makes the generated module configure protobufjs itself, before it reads its defaults. Otherwise
// the result would depend on the order of imports: 64-bit integers must decode to numbers, which
// the codecs then check to be safe integers.
import { readFileSync, writeFileSync } from 'node:fs';

const path = 'libs/contracts/gen/dovetail.js';
const importLine = 'import $protobuf from "protobufjs/minimal.js";';
const configured = `${importLine}\n\n$protobuf.util.Long = undefined;\n$protobuf.configure();`;

const generated = readFileSync(path, 'utf8');
if (generated.split(importLine).length !== 2)
  throw new Error(`${path} does not import protobufjs once, as this step expects: ${importLine}`);
writeFileSync(
  path,
  generated.replace(importLine, () => configured),
);
