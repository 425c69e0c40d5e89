import { describe } from 'vitest';

import { startTwin } from './testing/kube-under-test.js';
import { kubeConformance } from './testing/suite.js';

describe('the Kubernetes twin', () => kubeConformance(startTwin));
