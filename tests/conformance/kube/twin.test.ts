import { describe, jest } from '@jest/globals';

import { startTwin } from './testing/kube-under-test.js';
import { kubeConformance } from './testing/suite.js';

jest.setTimeout(30_000);

describe('the Kubernetes twin', () => kubeConformance(startTwin));
