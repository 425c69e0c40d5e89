// Writes docs/reference/settings.md from each built service's --help, so that the page cannot
// differ from it.
// Usage: tsx tools/settings-reference.ts [--check]   (after the services are built)
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';

const page = 'docs/reference/settings.md';
const services = ['pod-watcher', 'solver', 'launcher', 'reaper'];

type Setting = {
  readonly flag: string;
  readonly env: string;
  readonly help: string;
  readonly fallback: string;
};
type Help = {
  readonly service: string;
  readonly purpose: string;
  readonly settings: readonly Setting[];
};

/** A default as the page shows it. A host's name stands for every host. */
const shownFallback = (fallback: string): string =>
  fallback === `default ${JSON.stringify(hostname())}`
    ? "default: the host's name"
    : fallback
        .replace(/^default "(.*)"$/, 'default `$1`')
        .replace(/^default ([^`].*)$/, (_, value: string) =>
          value === 'none' ? 'default: none' : `default \`${value}\``,
        );

const helpOf = (service: string): Help => {
  const text = execFileSync(process.execPath, [`dist/${service}.js`, '--help'], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
  const purpose = text.slice(text.indexOf(': ') + 2, text.indexOf('\n'));
  const settings = [...text.matchAll(/^ {2}(--\S+), (\S+) \((.*)\)\n {6}(.*)$/gm)].map(
    ([, flag = '', env = '', fallback = '', help = '']) => ({
      flag,
      env,
      help,
      fallback: shownFallback(fallback),
    }),
  );
  if (settings.length === 0) throw new Error(`${service} --help lists no settings`);
  return { service, purpose, settings };
};

const helps = services.map(helpOf);
const row = ({ env, flag, fallback, help }: Setting): string =>
  `| \`${env}\` | \`${flag}\` | ${fallback.replace(/^default:? /, '')} | ${help.replaceAll('|', '\\|')} |`;
const table = (settings: readonly Setting[]): string =>
  ['| variable | flag | default | meaning |', '|---|---|---|---|', ...settings.map(row)].join('\n');
const same =
  (left: Setting) =>
  (right: Setting): boolean =>
    right.env === left.env && right.help === left.help && right.fallback === left.fallback;
const common = (helps[0]?.settings ?? []).filter((setting) =>
  helps.every(({ settings }) => settings.some(same(setting))),
);
const own = ({ settings }: Help): readonly Setting[] =>
  settings.filter((setting) => !common.some(same(setting)));

const text = `# Settings

Made by \`npm run settings-reference\` from each service's \`--help\`; do not edit by hand. A flag wins over its variable, a variable over the
default; an empty variable counts as absent. A service that cannot use a setting does not start: it names the flag, the value and the
remedy, and ends with exit code 64. Durations are written \`250ms\`, \`10s\`, \`1h30m\`, up to a day. The chart's values are in \`deploy/helm/dovetail/values.yaml\`.

AWS credentials are not settings: they are found as the AWS SDK finds them (for EKS: a role on the service account). Services listen for
\`/healthz\`, \`/readyz\`, \`/metrics\` and \`/debug/state\`.

## Every service

${table(common)}

${helps.map((help) => `## ${help.service}\n\n${help.service} ${help.purpose}.\n\n${table(own(help))}`).join('\n\n')}
`;

if (!process.argv.includes('--check')) writeFileSync(page, text);
else if (readFileSync(page, 'utf8') !== text) {
  process.stderr.write(`${page} is not what the services print: run npm run settings-reference\n`);
  process.exitCode = 1;
}
