import { describeTier } from '@zerohop/test-support';
import { kernelSuite } from '../suites/kernel-suite.js';
import { orientSuite } from '../suites/orient-suite.js';

describeTier('gpu', 'kernels', () => kernelSuite({ cases: 60, largest: 150, replays: 1000 }));
describeTier('gpu', 'the orienting kernel', orientSuite);
