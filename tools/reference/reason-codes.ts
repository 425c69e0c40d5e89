/** The unions of codes in `reasons.ts`, with the heading and the sentence of each on the page. */
const unions = [
  {
    name: 'ReasonCode',
    heading: 'Planning',
    about:
      'Why a pod has no place, or why a plan is as it is. Decisions `plan` and `unschedulable`.',
  },
  {
    name: 'AdmissionCode',
    heading: 'Admission',
    about:
      'Why the launcher refused a part of a plan, beside the codes of planning. Decision `refuse`.',
  },
  {
    name: 'LaunchCode',
    heading: 'Launch',
    about: 'Decisions `admit`, `launch`, `launch-failed`, `register` and `initialize`.',
  },
  {
    name: 'DisruptionCode',
    heading: 'Ends of nodes',
    about:
      'Why a node goes or stays. Decisions `disrupt`, `interrupt`, `drain`, `terminate` and `collect`, and `dovetail explain node`.',
  },
] as const;

/** The codes of one union with their docstrings. Throws for a code without one. */
function codesOf(source: string, name: string): readonly (readonly [string, string])[] {
  const [, union] = new RegExp(`type ${name} =\n((?: .*\n)*?[^;]*);`).exec(source) ?? [];
  if (union === undefined) throw new Error(`reasons.ts has no union ${name}`);
  const lines = union.split('\n');
  return lines.flatMap((line, index) => {
    const [, code] = /^ +\| '([a-z-]+)'/.exec(line) ?? [];
    if (code === undefined) return [];
    const [, meaning] = /^ +\/\*\* (.+) \*\/$/.exec(lines[index - 1] ?? '') ?? [];
    if (meaning === undefined) throw new Error(`the code ${code} has no docstring`);
    return [[code, meaning]];
  });
}

/** The page of all reason codes, from the source that declares them. */
export const reasonCodesPage = (source: string): string => `# Reason codes

Written by \`npm run reference\` from \`libs/core/scheduling/src/reasons.ts\`; do not edit it by hand. Every refusal and every decision
has reasons: a code, the values compared, and a sentence. Codes are contracts. Sentences are not.

${unions
  .map(
    ({ name, heading, about }) =>
      `## ${heading}\n\n${about}\n\n| code | meaning |\n|---|---|\n${codesOf(source, name)
        .map(([code, meaning]) => `| \`${code}\` | ${meaning.replaceAll('|', '\\|')} |`)
        .join('\n')}\n`,
  )
  .join('\n')}`;
