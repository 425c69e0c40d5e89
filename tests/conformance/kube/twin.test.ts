import { describe } from '@jest/globals';

import { startTwin } from './testing/kube-under-test.js';
import { kubeConformance } from './testing/suite.js';

describe('the Kubernetes twin', () => kubeConformance(startTwin));
