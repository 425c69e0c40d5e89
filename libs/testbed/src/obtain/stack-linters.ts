import { type ObtainOptions, type Program, settingsOf, type Unavailable } from './obtained.js';
import { obtainPython } from './python.js';

const cfnLintVersion = '1.58.0';
const hclVersion = '8.1.4';

/**
 * Obtains cfn-lint, AWS' checker of CloudFormation templates, and a reader of Terraform's language,
 * in a Python environment of their own. The path is that Python's: start `-m cfnlint`, or import
 * `hcl2`.
 */
export const obtainStackLinters = (options: ObtainOptions = {}): Promise<Program | Unavailable> =>
  obtainPython(
    {
      title: `cfn-lint ${cfnLintVersion}`,
      name: `stack-linters-${cfnLintVersion}-${hclVersion}`,
      packages: [`cfn-lint==${cfnLintVersion}`, `python-hcl2==${hclVersion}`],
      imports: ['hcl2'],
    },
    settingsOf(options),
  );
