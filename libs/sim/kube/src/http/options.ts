import { type Raw, recordOf } from '@dovetail/core-kube-model';

import { badRequest } from '../model/errors.js';
import type { RemoveOptions } from '../store/remove.js';
import type { WriteOptions } from '../store/write.js';
import type { Exchange } from './exchange.js';

/** How a write was asked to be done, from the query. */
export function writeOptions(exchange: Exchange): WriteOptions {
  const { query, warnings } = exchange;
  const validation = query.get('fieldValidation') ?? 'Warn';
  if (validation !== 'Strict' && validation !== 'Warn' && validation !== 'Ignore')
    throw badRequest(
      `fieldValidation: Unsupported value: ${JSON.stringify(validation)}: supported values: "Ignore", "Strict", "Warn"`,
    );
  return {
    dryRun: query.get('dryRun') === 'All',
    fieldValidation: validation,
    warn: (message) => warnings.push(message),
  };
}

const propagations = ['Background', 'Foreground', 'Orphan'] as const;

/** How a deletion was asked to be done, from DeleteOptions in the body and from the query. */
export function removeOptions(exchange: Exchange, body: Raw): RemoveOptions {
  const { query } = exchange;
  const { uid, resourceVersion } = recordOf(body['preconditions']);
  const grace =
    body['gracePeriodSeconds'] ??
    (query.has('gracePeriodSeconds') ? Number(query.get('gracePeriodSeconds')) : undefined);
  const asked = body['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined;
  const propagation =
    propagations.find((one) => one === asked) ??
    (body['orphanDependents'] === true ? 'Orphan' : undefined);
  if (asked !== undefined && propagation === undefined)
    throw badRequest(
      `propagationPolicy: Unsupported value: ${JSON.stringify(asked)}: supported values: "Background", "Foreground", "Orphan"`,
    );
  const dryRun =
    query.get('dryRun') === 'All' ||
    (Array.isArray(body['dryRun']) && body['dryRun'].includes('All'));
  return {
    ...(typeof uid === 'string' ? { uid } : {}),
    ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    ...(typeof grace === 'number' && Number.isFinite(grace) ? { gracePeriodSeconds: grace } : {}),
    ...(propagation === undefined ? {} : { propagation }),
    ...(dryRun ? { dryRun } : {}),
  };
}
