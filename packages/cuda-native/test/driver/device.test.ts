import { describeTier } from '@zerohop/test-support';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { deviceSuite } from '../suites/device-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

describeTier('driver', 'on the fake driver', deviceSuite);
