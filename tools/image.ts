// Builds the image of all services and the command with the first container engine on PATH.
// Usage: tsx tools/image.ts [TAG]
import { spawnSync } from 'node:child_process';

const tag = process.argv[2] ?? 'dovetail';
const engines = ['docker', 'podman', 'buildah'];
const engine = engines.find((name) => spawnSync(name, ['--version']).status === 0);
if (engine === undefined) {
  process.stderr.write(
    `image: no container engine: none of ${engines.join(', ')} is on PATH; install one, or assemble the image without (tools/image-layout.ts)\n`,
  );
  process.exitCode = 1;
} else {
  const build = ['build', '-f', 'deploy/docker/Dockerfile', '-t', tag, '.'];
  process.exitCode = spawnSync(engine, build, { stdio: 'inherit' }).status ?? 1;
}
