import { describeTier } from '@zerohop/test-support';
import { kernelSuite } from '../suites/kernel-suite.js';
import { useFakeDriver } from '../support/fake-driver.js';

useFakeDriver();

describeTier('driver', 'kernels on the fake driver', () => kernelSuite({ cases: 12, largest: 90, replays: 4 }));
