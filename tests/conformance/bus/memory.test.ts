import { systemClock } from '@dovetail/runtime';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';

import { busConformance } from './testing/suite.js';

busConformance('the in-process bus', async () => {
  const server = new MemoryBusServer(systemClock);
  return Promise.resolve({
    connect: () => memoryBus(server),
    crash: () => Promise.resolve(server.stop()),
    restart: (options) => Promise.resolve(server.start(options)),
    purge: (stream) => Promise.resolve(server.purgeStream(stream)),
    deleteStream: (stream) => Promise.resolve(server.deleteStream(stream)),
    deleteConsumer: (stream, consumer) => Promise.resolve(server.deleteConsumer(stream, consumer)),
    close: () => Promise.resolve(),
  });
});
