import { assert } from '@dovetail/core-invariant';
import protobuf from 'protobufjs/minimal.js';

import { dovetail } from '../../gen/dovetail.js';

assert(
  (protobuf.util as { readonly Long: unknown }).Long === undefined,
  'the generated module makes 64-bit integers decode to numbers; run `npx nx run-many -t gen` if it is an older one',
);

/** The generated messages. Only `codec/` sees them: wire types stop here. */
export const wire = dovetail.v1;
