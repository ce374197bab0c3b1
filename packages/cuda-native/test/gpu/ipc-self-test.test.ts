import { describeTier } from '@zerohop/test-support';
import { ipcSelfTestSuite } from '../suites/ipc-self-test-suite.js';

describeTier('gpu', 'ipcSelfTest on a real GPU', ipcSelfTestSuite);
