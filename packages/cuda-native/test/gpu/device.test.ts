import { describeTier } from '@zerohop/test-support';
import { deviceSuite } from '../suites/device-suite.js';

describeTier('gpu', 'on a real GPU', deviceSuite);
