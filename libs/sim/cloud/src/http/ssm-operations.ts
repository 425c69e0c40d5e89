import { AwsFault } from '../foundation/aws-fault.js';
import { refuseOthers, requiredText } from './json-fields.js';
import type { JsonOperations } from './operation.js';

/** Systems Manager: the public parameters that name images, and those that tests set. */
export const ssmOperations: JsonOperations = {
  GetParameter: (twin, input) => {
    refuseOthers(input, ['Name', 'WithDecryption']);
    const name = requiredText(input, 'Name');
    const plain = name.replace(/^arn:aws:ssm:[^:]*:\d*:parameter/, '');
    const found = twin.images.parameter(plain);
    if (found === undefined)
      throw new AwsFault('ParameterNotFound', `Parameter ${name} not found.`);
    const owner = plain.startsWith('/aws/service/') ? '' : twin.account.accountId;
    return {
      Parameter: {
        Name: plain,
        Type: 'String',
        Value: found.value,
        Version: found.version,
        DataType: 'text',
        LastModifiedDate: twin.timeline.nowMs() / 1000,
        ARN: `arn:aws:ssm:${twin.account.region}:${owner}:parameter${plain.startsWith('/') ? '' : '/'}${plain}`,
      },
    };
  },
};
