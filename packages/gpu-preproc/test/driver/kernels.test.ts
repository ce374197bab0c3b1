import { describeTier } from '@zerohop/test-support';
import { kernelSuite } from '../suites/kernel-suite.js';
import { orientSuite } from '../suites/orient-suite.js';
import { useFakeDriver } from '../support/fake-driver.js';

useFakeDriver();

describeTier('driver', 'kernels on the fake driver', () => kernelSuite({ cases: 12, largest: 90, replays: 4 }));
describeTier('driver', 'the orienting kernel on the fake driver', orientSuite);
