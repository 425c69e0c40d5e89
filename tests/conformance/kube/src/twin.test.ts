import { describe, jest } from '@jest/globals';
import { kubeConformance } from './testing/suite.js';
import { startTwin } from './testing/world.js';

jest.setTimeout(30_000);

describe('the Kubernetes twin', () => kubeConformance(startTwin));
