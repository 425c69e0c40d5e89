import { runMain } from '@dovetail/runtime';
import { TestbedError } from '@dovetail/testbed';

import { runCloudTwin } from './cloud-twin.js';
import { runDemo } from './demo.js';
import { runKubeTwin } from './kube-twin.js';
import { runServices } from './services.js';
import { labDown, labUp } from './up.js';

const help = `lab: runs Dovetail and everything that it needs on this machine

  up          start the lab and leave it running: .lab/kubeconfig, .lab/ready (REGION, SOLVERS, CLUSTER_NAME, REAL=1)
  down        end the lab
  demo        show with a timeline how pods become nodes and nodes go away, then end
  kube-twin, cloud-twin, services, supervise   roles that the lab starts itself

Without a nats-server (not on PATH, not available from PyPI, or NATS_SERVER=none), all services run in one process.
libs/sim/README.md lists what the twins serve, and what not.
`;

await runMain(async () => {
  try {
    await runCommand(process.argv[2]);
  } catch (error) {
    // A TestbedError is for the user and names its remedy, so a stack would only distract.
    if (!(error instanceof TestbedError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
});

async function runCommand(command: string | undefined): Promise<void> {
  switch (command) {
    case 'up':
      return labUp({ detach: true });
    case 'supervise':
      return labUp({ detach: false });
    case 'down':
      return labDown();
    case 'demo':
      return runDemo();
    case 'kube-twin':
      return runKubeTwin();
    case 'cloud-twin':
      return runCloudTwin();
    case 'services':
      return runServices();
    case undefined:
    case 'help':
    case '--help':
      process.stdout.write(help);
      return;
    default:
      process.stderr.write(`lab has no command ${command}; lab --help lists them\n`);
      process.exitCode = 64;
  }
}
