// The command as one file. The same file is the code of the thread that HiGHS runs in, so it needs
// nothing beside it.
import { isMainThread } from 'node:worker_threads';

await (isMainThread ? import('./main.js') : import('@dovetail/adapter-highs/thread'));
