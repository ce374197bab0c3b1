import { describeTier } from '@zerohop/test-support';
import { preprocessorSuite } from '../suites/preprocessor-suite.js';

describeTier('gpu', 'Preprocessor on a GPU', preprocessorSuite);
