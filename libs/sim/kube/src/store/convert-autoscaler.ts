import { lookUp } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../model/json.js';

// HorizontalPodAutoscalers are stored as autoscaling/v2. In v1 annotations carry all that has no
// field there, in the shapes of pkg/apis/autoscaling/v1/conversion.go of Kubernetes.
const annotation = {
  metrics: 'autoscaling.alpha.kubernetes.io/metrics',
  currentMetrics: 'autoscaling.alpha.kubernetes.io/current-metrics',
  behavior: 'autoscaling.alpha.kubernetes.io/behavior',
  conditions: 'autoscaling.alpha.kubernetes.io/conditions',
} as const;

const defined = (fields: Raw): Raw =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const nonEmpty = (fields: Raw): Raw => (Object.keys(fields).length === 0 ? {} : { ...fields });

/** The utilization of a metric that v1 has a field for: that of the pods' CPU. */
function cpuUtilization(metric: unknown, target: 'target' | 'current'): unknown {
  const resource = recordOf(recordOf(metric)['resource']);
  return resource['name'] === 'cpu' ? recordOf(resource[target])['averageUtilization'] : undefined;
}

type Convert = { readonly toV1: (source: Raw) => Raw; readonly toV2: (source: Raw) => Raw };

const resourceSource: Convert = {
  toV1: ({ name, container, target }) =>
    defined({
      name,
      container,
      targetAverageUtilization: recordOf(target)['averageUtilization'],
      targetAverageValue: recordOf(target)['averageValue'],
    }),
  toV2: ({ name, container, targetAverageUtilization, targetAverageValue }) =>
    defined({
      name,
      container,
      target: defined({
        type: targetAverageUtilization === undefined ? 'AverageValue' : 'Utilization',
        averageUtilization: targetAverageUtilization,
        averageValue: targetAverageValue,
      }),
    }),
};

const podsSource: Convert = {
  toV1: ({ metric, target }) =>
    defined({
      metricName: recordOf(metric)['name'],
      selector: recordOf(metric)['selector'],
      targetAverageValue: recordOf(target)['averageValue'],
    }),
  toV2: ({ metricName, selector, targetAverageValue }) => ({
    metric: defined({ name: metricName, selector }),
    target: defined({ type: 'AverageValue', averageValue: targetAverageValue }),
  }),
};

const objectSource: Convert = {
  toV1: ({ describedObject, metric, target }) =>
    defined({
      target: describedObject,
      metricName: recordOf(metric)['name'],
      selector: recordOf(metric)['selector'],
      targetValue: recordOf(target)['value'] ?? '0',
      averageValue: recordOf(target)['averageValue'],
    }),
  toV2: ({ target, metricName, selector, targetValue, averageValue }) => ({
    describedObject: target,
    metric: defined({ name: metricName, selector }),
    target: defined(
      averageValue === undefined
        ? { type: 'Value', value: targetValue }
        : { type: 'AverageValue', value: targetValue, averageValue },
    ),
  }),
};

const externalSource: Convert = {
  toV1: ({ metric, target }) =>
    defined({
      metricName: recordOf(metric)['name'],
      metricSelector: recordOf(metric)['selector'],
      targetValue: recordOf(target)['value'],
      targetAverageValue: recordOf(target)['averageValue'],
    }),
  toV2: ({ metricName, metricSelector, targetValue, targetAverageValue }) => ({
    metric: defined({ name: metricName, selector: metricSelector }),
    target: defined({
      type: targetValue === undefined ? 'AverageValue' : 'Value',
      value: targetValue,
      averageValue: targetAverageValue,
    }),
  }),
};

const sources: Readonly<Record<string, Convert>> = {
  resource: resourceSource,
  containerResource: resourceSource,
  pods: podsSource,
  object: objectSource,
  external: externalSource,
};

const withSources = (metric: unknown, way: keyof Convert): Raw =>
  Object.fromEntries(
    Object.entries(recordOf(metric)).map(([field, value]) => {
      const convert = lookUp(sources, field)?.[way];
      return [field, convert === undefined ? value : convert(recordOf(value))];
    }),
  );

const currentSource = (current: Raw): Raw =>
  defined({
    currentAverageUtilization: current['averageUtilization'],
    currentAverageValue: current['averageValue'],
  });

/** A measured metric as v1 has it. The controller measures resources of pods only. */
function measuredV1(metric: unknown): Raw {
  const { type, resource } = recordOf(metric);
  const { name, current } = recordOf(resource);
  return { type, resource: defined({ name, ...currentSource(recordOf(current)) }) };
}

function withAnnotations(object: Raw, change: (annotations: Raw) => Raw): Raw {
  const { annotations: before, ...metadata } = recordOf(object['metadata']);
  const own = Object.values<string>(annotation);
  const kept = Object.entries(recordOf(before)).filter(([key]) => !own.includes(key));
  const annotations = change(Object.fromEntries(kept));
  return {
    ...object,
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
  };
}

const jsonOf = (list: readonly unknown[]): string | undefined =>
  list.length === 0 ? undefined : JSON.stringify(list);

/** An autoscaling/v2 object as autoscaling/v1 shows it. */
export function autoscalerToV1(object: Raw): Raw {
  const { scaleTargetRef, minReplicas, maxReplicas, metrics, behavior } = recordOf(object['spec']);
  const status = recordOf(object['status']);
  const { conditions, currentMetrics, ...counts } = status;
  const others = listOf(metrics).filter((one) => cpuUtilization(one, 'target') === undefined);
  const find = (list: unknown, target: 'target' | 'current'): unknown =>
    listOf(list)
      .map((one) => cpuUtilization(one, target))
      .find((value) => value !== undefined);
  const annotated = withAnnotations(object, (kept) =>
    defined({
      ...kept,
      [annotation.metrics]: jsonOf(others.map((one) => withSources(one, 'toV1'))),
      [annotation.currentMetrics]: jsonOf(listOf(currentMetrics).map(measuredV1)),
      [annotation.behavior]: isRecord(behavior) ? JSON.stringify(behavior) : undefined,
      [annotation.conditions]: jsonOf(listOf(conditions)),
    }),
  );
  const targetCPUUtilizationPercentage = find(metrics, 'target');
  const currentCPUUtilizationPercentage = find(currentMetrics, 'current');
  return {
    ...annotated,
    spec: defined({ scaleTargetRef, minReplicas, maxReplicas, targetCPUUtilizationPercentage }),
    status: defined({ ...counts, currentCPUUtilizationPercentage }),
  };
}

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(textOf(text)) as unknown;
  } catch {
    return undefined;
  }
}

function measuredV2(metric: unknown): Raw {
  const { type, resource } = recordOf(metric);
  const { name, currentAverageUtilization, currentAverageValue } = recordOf(resource);
  const current = defined({
    averageUtilization: currentAverageUtilization,
    averageValue: currentAverageValue,
  });
  return { type, resource: defined({ name, current }) };
}

function statusFromV1(status: Raw, annotations: Raw): Raw {
  const { currentCPUUtilizationPercentage: _shown, ...counts } = status;
  const measured = parsed(annotations[annotation.currentMetrics]);
  return defined({
    ...counts,
    conditions: parsed(annotations[annotation.conditions]),
    currentMetrics: Array.isArray(measured) ? measured.map(measuredV2) : undefined,
  });
}

/** A sent autoscaling/v1 object as autoscaling/v2. */
export function autoscalerFromV1(object: Raw): Raw {
  const { targetCPUUtilizationPercentage, ...spec } = recordOf(object['spec']);
  const { status, ...rest } = object;
  const annotations = recordOf(recordOf(object['metadata'])['annotations']);
  const cpu = {
    type: 'Resource',
    resource: {
      name: 'cpu',
      target: { type: 'Utilization', averageUtilization: targetCPUUtilizationPercentage },
    },
  };
  const others = listOf(parsed(annotations[annotation.metrics]));
  const metrics = [
    ...others.map((one) => withSources(one, 'toV2')),
    ...(targetCPUUtilizationPercentage === undefined ? [] : [cpu]),
  ];
  const behavior = parsed(annotations[annotation.behavior]);
  return {
    ...withAnnotations(rest, nonEmpty),
    ...(isRecord(status) ? { status: statusFromV1(status, annotations) } : {}),
    spec: defined({
      ...spec,
      metrics: metrics.length === 0 ? undefined : metrics,
      behavior: isRecord(behavior) ? behavior : undefined,
    }),
  };
}
