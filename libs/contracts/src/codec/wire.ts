// The first import fixes how 64-bit integers decode; the generated module reads that when it loads, so it comes second.
import './long.js';
import { dovetail } from '../../gen/dovetail.js';

/** The generated messages. Nothing outside `codec/` sees them: wire types stop here. */
export const wire = dovetail.v1;
