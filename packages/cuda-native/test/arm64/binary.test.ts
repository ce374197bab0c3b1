import { describeTier } from '@zerohop/test-support';
import { binarySuite } from '../suites/binary-suite.js';

describeTier('arm64', 'the binary for arm64', () => binarySuite('arm64'));
