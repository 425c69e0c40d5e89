import { describe, jest } from '@jest/globals';
import { kubeConformance } from './suite.js';
import { startTwin } from './world.js';

jest.setTimeout(30_000);

describe('the Kubernetes twin', () => kubeConformance(startTwin));
