export { isBusReaderUrl, readBus } from './http/read.js';
export type { ServedBus } from './http/serve.js';
export { serveBus } from './http/serve.js';
export { memoryBus } from './memory/bus.js';
export { MemoryBusServer } from './memory/server.js';
