import { Argument, type Command } from 'commander';

import { duration } from './durations.js';
import { exampleText, pull } from './lab-lever.js';

function addClock(lab: Command): void {
  lab
    .command('clock')
    .description("The lab's time moves on at once.")
    .addArgument(new Argument('<duration>', 'by how much').argParser(duration))
    .addHelpText(
      'after',
      exampleText(
        ['clock 30m', 'clock 720h   # what expires after 30 days expires now'],
        "The services and the twins share this time. A real control plane (REAL=1) and NATS keep this machine's.",
      ),
    )
    .action((ms: number) => pull((_twin, { advanceClock }) => advanceClock(ms)));
}

function addReleaseImages(lab: Command): void {
  lab
    .command('release-images')
    .description('AWS releases new images, so nodes whose class follows the latest ones drift.')
    .option('--kubernetes-version <version>', "a minor version (default: the lab's)")
    .addHelpText(
      'after',
      exampleText(['release-images', 'release-images --kubernetes-version 1.33']),
    )
    .action((flags: { kubernetesVersion?: string }) =>
      pull((twin, { releaseImages }) => releaseImages(twin, flags.kubernetesVersion)),
    );
}

/** Adds the levers of time and releases. */
export function addTimeLevers(lab: Command): void {
  addClock(lab);
  addReleaseImages(lab);
}
