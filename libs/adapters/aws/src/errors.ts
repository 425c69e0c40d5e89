import { classifyFleetError, type CloudErrorCode } from '@dovetail/core-ec2-model';
import { CloudError } from '@dovetail/core-ports';

type SdkError = {
  readonly name?: unknown; readonly Code?: unknown; readonly code?: unknown; readonly message?: unknown; readonly cause?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
};

/** Node's names for connections that never reached AWS, or broke on the way. */
const networkCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EPIPE', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNABORTED', 'UND_ERR_SOCKET']);
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** AWS' own code of an error, as the SDK hands it over (its place differs between AWS' protocols). */
export function awsCodeOf(error: unknown): string {
  const { Code, name, code, cause } = (typeof error === 'object' && error !== null ? error : {}) as SdkError;
  // fetch wraps what the network said.
  const network = text(code) ?? text((cause as SdkError | undefined)?.code);
  if (network !== undefined && networkCodes.has(network)) return network;
  return text(Code) ?? text(name) ?? 'Unknown';
}

/** What an error of the SDK means for the caller. CloudErrors pass unchanged. */
export function cloudErrorOf(error: unknown, action: string): CloudError {
  if (error instanceof CloudError) return error;
  const awsCode = awsCodeOf(error);
  const { message } = (typeof error === 'object' && error !== null ? error : {}) as SdkError;
  return new CloudError(codeOf(awsCode, error), awsCode, `${action}: ${text(message) ?? awsCode}`, { cause: error });
}

function codeOf(awsCode: string, error: unknown): CloudErrorCode {
  if (networkCodes.has(awsCode)) return 'unavailable';
  const { code } = classifyFleetError(awsCode);
  if (code !== 'invalid-request') return code;
  // Some protocols prefix the service, and newer errors come without a listed code: the status then decides.
  const status = ((error ?? {}) as SdkError).$metadata?.httpStatusCode ?? 0;
  if (status === 429) return 'throttled';
  // Without a status nothing was answered: the SDK wraps some broken connections in a nameless error.
  if (status >= 500 || awsCode === 'Unknown' || (status === 0 && awsCode === 'Error')) return 'unavailable';
  return status === 401 || status === 403 ? 'denied' : 'invalid-request';
}
