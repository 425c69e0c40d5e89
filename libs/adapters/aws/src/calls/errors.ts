import { classifyFleetError, type CloudErrorCode } from '@dovetail/core-ec2-model';
import { CloudError } from '@dovetail/core-ports';

type SdkError = {
  readonly name?: unknown;
  readonly Code?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
};

/** Node's codes for connections that failed or broke. */
const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNABORTED',
  'UND_ERR_SOCKET',
]);
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/**
 * AWS' own code of an error. The SDK keeps it in different places, because AWS' protocols differ.
 */
function awsCodeOf(error: unknown): string {
  const { Code, name, code, cause } = (
    typeof error === 'object' && error !== null ? error : {}
  ) as SdkError;
  // fetch wraps the network's error.
  const network = text(code) ?? text((cause as SdkError | undefined)?.code);
  if (network !== undefined && networkCodes.has(network)) return network;
  return text(Code) ?? text(name) ?? 'Unknown';
}

/**
 * The CloudError for an error of the SDK: its code says what the caller can do. A CloudError is
 * returned unchanged.
 */
export function cloudErrorOf(error: unknown, action: string): CloudError {
  if (error instanceof CloudError) return error;
  const awsCode = awsCodeOf(error);
  const { message } = (typeof error === 'object' && error !== null ? error : {}) as SdkError;
  return new CloudError(codeOf(awsCode, error), awsCode, `${action}: ${text(message) ?? awsCode}`, {
    cause: error,
  });
}

function codeOf(awsCode: string, error: unknown): CloudErrorCode {
  if (networkCodes.has(awsCode)) return 'unavailable';
  const { code } = classifyFleetError(awsCode);
  if (code !== 'invalid-request') return code;
  // Some protocols prefix the service's name, and newer errors have codes that we do not list. The
  // status decides for those.
  const status = ((error ?? {}) as SdkError).$metadata?.httpStatusCode ?? 0;
  if (status === 429) return 'throttled';
  // Without a status there was no answer: the SDK wraps some broken connections in an error without
  // a name.
  if (status >= 500 || awsCode === 'Unknown' || (status === 0 && awsCode === 'Error'))
    return 'unavailable';
  return status === 401 || status === 403 ? 'denied' : 'invalid-request';
}
