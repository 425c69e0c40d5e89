import { type ObtainOptions, type Program, settingsOf, type Unavailable } from './obtained.js';
import { obtainPython } from './python.js';

const clientVersion = '2.16.0';
const protoVersion = '1.85.1';

/**
 * Obtains what a Python program needs to read decisions: NATS' client, its keys, and a reader of
 * `.proto` files, in a Python environment of their own. The path is that Python's.
 */
export const obtainPythonSubscriber = (
  options: ObtainOptions = {},
): Promise<Program | Unavailable> =>
  obtainPython(
    {
      title: `nats-py ${clientVersion}`,
      name: `python-subscriber-${clientVersion}-${protoVersion}`,
      packages: [`nats-py==${clientVersion}`, 'nkeys==0.2.1', `grpcio-tools==${protoVersion}`],
      imports: ['grpc_tools', 'nats', 'nkeys'],
    },
    settingsOf(options),
  );
