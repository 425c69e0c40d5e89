// Writes docs/reference/settings.md from each built service's --help, so that the page cannot
// differ from it. Also writes the names, and the forms of values, by which the chart refuses an
// environment that no service takes.
// Usage: tsx tools/settings-reference.ts [--check]   (after the services are built)
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';

const page = 'docs/reference/settings.md';
const chartNames = 'deploy/helm/dovetail/files/settings.json';
const services = ['pod-watcher', 'solver', 'launcher', 'reaper', 'console', 'sinks'];

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

/** The remedies that a service tells for a value that no setting takes, by variable. */
const remediesOf = ({ service, settings }: Help): ReadonlyMap<string, string> => {
  const { stderr } = spawnSync(
    process.execPath,
    [`dist/${service}.js`, ...settings.map(({ flag }) => `${flag}=?!`)],
    { encoding: 'utf8', env: { PATH: process.env.PATH } },
  );
  const refusals = [...stderr.matchAll(/^ {2}- \S+ \(or (\w+)\) is "\?!": (.*)$/gm)];
  return new Map(refusals.map(([, env = '', remedy = '']) => [env, remedy]));
};

/** The form of a setting's values, as its remedy tells it. Without one, the chart takes any. */
type Form = { readonly pattern: string; readonly least?: number; readonly most?: number };
const formOf = (remedy: string): Form | undefined => {
  const [, choices] = /^give one of ([\w, ]+)$/.exec(remedy) ?? [];
  if (choices !== undefined) return { pattern: `^(${choices.split(', ').join('|')})$` };
  const [, least, most] = /^give a whole number from (\d+) to (\d+)$/.exec(remedy) ?? [];
  if (most !== undefined)
    return { pattern: '^[0-9]{1,15}$', least: Number(least), most: Number(most) };
  if (remedy.startsWith('give a duration')) return { pattern: '^(0|([0-9]+(ms|s|m|h))+)$' };
  if (remedy.startsWith('give US dollars')) return { pattern: '^[0-9]{1,9}([.][0-9]{1,6})?$' };
  return undefined;
};

const names = Object.fromEntries(
  helps.map((help) => {
    const remedies = remediesOf(help);
    const forms = help.settings.map(({ env }) => {
      const remedy = remedies.get(env) ?? '';
      const form = formOf(remedy);
      return [env, form === undefined ? {} : { ...form, remedy }] as const;
    });
    return [help.service, Object.fromEntries(forms)];
  }),
);
const written = { [page]: text, [chartNames]: `${JSON.stringify(names, undefined, 2)}\n` };

for (const [path, content] of Object.entries(written))
  if (!process.argv.includes('--check')) writeFileSync(path, content);
  else if (readFileSync(path, 'utf8') !== content) {
    process.stderr.write(
      `${path} is not what the services print: run npm run settings-reference\n`,
    );
    process.exitCode = 1;
  }
