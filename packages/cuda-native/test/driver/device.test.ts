import { describeTier } from '@zerohop/test-support';
import { buildFakeLibcuda } from '../fake-libcuda/build.mjs';
import { deviceSuites } from '../suites/device-suites.js';
import { peerSuite } from '../suites/peer-suite.js';

process.env.ZEROHOP_LIBCUDA = buildFakeLibcuda();

describeTier('driver', 'on the fake driver', deviceSuites);
describeTier('driver', 'two devices of the fake driver', peerSuite);
