export { MemoryBusServer } from './server.js';
export { memoryBus } from './bus.js';
export { serveBus } from './http/serve.js';
export type { ServedBus } from './http/serve.js';
export { isBusReaderUrl, readBus } from './http/read.js';
export { matchesSubject } from './subject-filter.js';
