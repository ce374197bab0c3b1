import { describeTier } from '@zerohop/test-support';
import { deviceSuites } from '../suites/device-suites.js';
import { peerSuite } from '../suites/peer-suite.js';

describeTier('gpu', 'on a real GPU', deviceSuites);
describeTier('gpu', 'on two real GPUs', peerSuite, { needs: ['gpus'] });
